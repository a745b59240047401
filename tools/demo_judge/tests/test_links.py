"""Where the demo judge is shown to look in training: marks leave no trace, links point at what they say."""

from __future__ import annotations

import re
from random import Random

import pytest

from tools.demo_judge import marks
from tools.demo_judge.batches import Batch, cut, first_characters, pairs_met, shown_links
from tools.demo_judge.languages import World
from tools.demo_judge.links import (
    COPIED,
    DECISION,
    DECISION_SUBJECT,
    FACT,
    GROUPED,
    PAIRED,
    SUBJECT,
    Link,
)
from tools.demo_judge.tasks import LANGUAGES, TASKS, Row, Task, row
from tools.demo_judge.texts import prose

TASK = {task.name: task for task in TASKS}


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    from rag_evaluator.demo import DEMO_JUDGE

    return AutoTokenizer.from_pretrained(DEMO_JUDGE)


def rows(task: str, language: str = "english", count: int = 60, difficulty: float = 0.6) -> list[Row]:
    return [row(TASK[task], World(Random(seed), difficulty, LANGUAGES[language])) for seed in range(count)]


def of_kind(made: Row, kind: int, after: str = "") -> list[Link]:
    """The links of a kind that look from a place right behind some text of the answer."""
    text = made.body + made.answer
    return [
        link
        for link in made.links
        if link.kind == kind and (not after or (link.query >= len(made.body) and text[: link.query].endswith(after)))
    ]


def test_marks_are_taken_out_and_their_places_are_those_of_the_clean_text() -> None:
    text = f"Of {marks.name('Ana')}: {marks.told('7', 'age', 'Ana')} or {marks.looked('8', 'age', 'Ana', 'context')}."
    clean, found = marks.taken_out(text)
    assert clean == "Of Ana: 7 or 8." == marks.without(text)
    assert [(mark.kind, clean[mark.place - 1 : mark.place + 1]) for mark in found] == [
        (marks.NAME, "a:"),
        (marks.TOLD, " 7"),
        (marks.LOOKED, " 8"),
    ]
    assert found[1].key == found[2].key != ""
    assert {mark.subject for mark in found} == {marks.code("Ana")}
    assert found[2].source == marks.code("context")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_mark_stays_in_a_row(task: Task, language: str) -> None:
    for made in rows(task.name, language, 20):
        for text in (made.head, made.body, made.answer, made.asked.model_dump_json(), made.wanted.model_dump_json()):
            assert text == marks.without(text)
            assert not re.search("[\ue000-\uf8ff\U000f0000-\U0010ffff]", text)


@pytest.mark.parametrize(("language", "says"), [("english", "the context says "), ("spanish", "el contexto dice ")])
@pytest.mark.parametrize("task", ["nli", "dense_nli", "find", "useful", "attributed"])
def test_a_reason_looks_at_the_value_it_repeats_or_at_nothing(task: str, language: str, says: str) -> None:
    found = 0
    for made in rows(task, language):
        text = made.body + made.answer
        for link in of_kind(made, FACT, says):
            said = re.match(r"[^,.]+", text[link.query :]).group()
            if link.key is None:
                assert said == LANGUAGES[language].nothing
            else:
                assert text[link.key :].startswith(said) and link.key < len(made.body)
                found += 1
    assert found > 10


def test_a_value_looks_at_the_end_of_the_name_it_belongs_to() -> None:
    for made in rows("find"):
        text = made.body + made.answer
        for match in re.finditer(r"About the \w+ of ([^,]+), the context says ", text):
            [link, same] = [link for link in made.links if link.kind == SUBJECT and link.query == match.end()]
            assert text[: link.key + 1].endswith(match.group(1)) and not link.at
            assert (same.key, same.at) == (link.key, True)


@pytest.mark.parametrize("task", ["rating", "rates"])
def test_a_rating_looks_at_the_fact_if_it_is_2_and_at_the_subject_if_it_is_not_0(task: str) -> None:
    seen = set()
    for made in rows(task):
        text = made.body + made.answer
        facts, subjects = of_kind(made, DECISION), of_kind(made, DECISION_SUBJECT)
        assert len(facts) == len(subjects) == made.answer.count('"rating": ')
        for fact, subject in zip(facts, subjects, strict=True):
            rating = int(text[fact.query])
            assert (fact.key is None, subject.key is None) == (rating < 2, rating < 1)
            seen.add(rating)
    assert seen == {0, 1, 2}


def test_the_better_context_is_the_one_looked_at() -> None:
    for made in rows("compare"):
        [link] = of_kind(made, DECISION)
        second = made.body.index('"context_2": ')
        assert made.wanted.choice == (1 if link.key < second else 2)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_decision_on_words_to_find_looks_at_their_end(language: str) -> None:
    for made in rows("phrases", language):
        text = made.body + made.answer
        for decision, judged in zip(of_kind(made, DECISION), made.wanted.statements, strict=True):
            assert text[: decision.key + 2].endswith(f'"{judged.statement}"')


@pytest.mark.parametrize("task", ["statements", "find", "useful", "attributed", "classified", "answer"])
def test_a_copy_looks_at_the_token_that_comes_next(task: str) -> None:
    found = 0
    for made in rows(task):
        text = made.body + made.answer
        for link in of_kind(made, COPIED):
            if link.key is not None:
                assert text[link.query] == text[link.key] and link.key < link.query >= len(made.body)
                found += 1
    assert found > 100


@pytest.mark.parametrize(("language", "compared"), [("english", ", the statement "), ("spanish", ", la afirmación ")])
def test_a_compared_value_is_copied_from_its_statement_and_a_verdict_from_nowhere(language: str, compared: str) -> None:
    values = 0
    for made in rows("nli", language):
        text = made.body + made.answer
        for link in of_kind(made, COPIED, compared):
            statement = text.rindex('"statement": "', 0, link.query)
            assert statement < link.key < text.index("\n", statement)
            values += 1
        assert all(link.key is None for link in of_kind(made, COPIED, '"verdict": '))
        assert len(of_kind(made, COPIED, '"verdict": ')) == len(made.wanted.statements)
    assert values > 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_has_words_that_no_list_has(language: str) -> None:
    world = World(Random(1), 0.3, LANGUAGES[language])
    words = " ".join(prose(world) for _ in range(200)).split()
    known = {word for some in LANGUAGES[language].salad for word in some}
    strange = [word for word in words if word.isalpha() and word.lower() not in known]
    assert 0.2 < len(strange) / len(words) < 0.8
    assert not any('"' in word or "\\" in word for word in words)  # they stand in JSON as they are


def statement_at(text: str, end: int) -> str:
    return text[text.rindex('"', 0, end) + 1 : end + 1]


def test_a_group_looks_at_each_of_its_statements_while_it_writes_it_and_then_at_nothing() -> None:
    for made in rows("classified"):
        text, truths = made.body + made.answer, made.asked.ground_truth
        for name, stop in (("TP", '"FP"'), ("FP", '"FN"'), ("FN", "")):
            start, wanted = text.index(f'"{name}": ['), getattr(made.wanted, name)
            end = text.index(stop, start) if stop else len(text)
            inside = [link for link in of_kind(made, GROUPED) if start < link.query < end]
            keys = list(dict.fromkeys(link.key for link in inside))
            assert keys[-1] is None and inside[-1].key is None
            looked = [statement_at(text, key) for key in keys[:-1]]
            assert len(looked) == len(wanted)
            for one, judged in zip(looked, wanted, strict=True):
                assert one == judged.statement if name == "FN" or one not in truths else name in ("TP", "FP")
                written = text.index(f'"statement": "{judged.statement}"', start) + len('"statement": "')
                assert {link.key for link in inside if link.query == written} == {
                    text.rindex(one, 0, start) + len(one) - 1
                }


def test_a_ground_truth_looks_at_the_answer_that_tells_the_same() -> None:
    for made in rows("classified"):
        text, pairs = made.body + made.answer, of_kind(made, PAIRED)
        assert sorted(statement_at(text, link.query) for link in pairs) == sorted(made.asked.ground_truth)
        paired = [link.key is not None for link in pairs]
        says = [judged.reason.endswith(" says nothing.") for judged in made.wanted.FN]
        assert paired.count(False) == sum(says)


@pytest.mark.parametrize("task", ["phrases", "nli_words", "useful_words", "attributed_words"])
def test_words_to_find_look_at_the_one_place_of_the_context_that_has_them(task: str, tokenizer) -> None:
    found, missed = 0, 0
    for made in rows(task):
        body, answer = cut(made.body, tokenizer), cut(made.answer, tokenizer)
        ids, starts = body.ids + answer.ids, first_characters(made, body, answer)
        text = made.body + made.answer
        begins = made.body.index('"context": "') + len('"context": "')
        ends = made.body.index("\n", begins)
        assert all(text[begin - 1] == text[end + 1] == '"' for begin, end in made.phrases)
        for _, query, key in pairs_met(made, starts, ids):
            assert any(begin < starts[query] <= end for begin, end in made.phrases)
            inside = [index for index in range(1, len(ids)) if begins <= starts[index - 1] and starts[index] < ends]
            places = [index for index in inside if ids[index - 1 : index + 1] == ids[query - 1 : query + 1]]
            assert places == ([key] if key >= 0 else [])
            found, missed = found + (key >= 0), missed + (key < 0)
    assert found > 100 and missed > 50


def test_links_in_tokens_are_those_in_characters(tokenizer) -> None:
    for made in rows("nli", count=10):
        text = made.body + made.answer
        body, answer = cut(made.body, tokenizer), cut(made.answer, tokenizer)
        ids, starts = body.ids + answer.ids, first_characters(made, body, answer)
        alone = [link for link in made.links if link.kind != COPIED]  # those have one per character
        shown = [one for one in shown_links(made, starts) if one[0] != COPIED]
        for link, (kind, query, key) in zip(alone, shown, strict=True):
            behind = link.query + 1 if link.at else link.query
            assert kind == link.kind
            begun = tokenizer.decode(ids[: query + 1])
            assert begun.startswith(text[:behind].rstrip()) if link.at else text.startswith(begun.rstrip())
            assert (key == -1) == (link.key is None)
            if link.key is not None:
                assert text[link.key] in tokenizer.decode([ids[key]])


@pytest.mark.parametrize("length", [1, 20])
def test_guided_heads_are_measured_by_their_attention(tokenizer, length: int) -> None:
    import torch

    from tools.demo_judge.model import GUIDED, build_model, seen

    model = build_model(tokenizer, seed=0).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():  # attention that differs from place to place
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)
    ids = torch.randint(3, 4000, (2, 12), generator=generator)
    head, places = torch.arange(length), torch.arange(length, length + 12).expand(2, 12)
    shown = torch.tensor([[0, FACT, 9, 3], [1, FACT, 7, 2], [1, FACT, 5, -1], [0, COPIED, 11, 4]])
    with torch.inference_mode():
        looked = seen(model, Batch(head, ids, places, torch.ones(2, 12), shown, 0)).looked
        model.set_attn_implementation("eager")
        whole = model(torch.cat([head.expand(2, length), ids], 1), output_attentions=True).attentions

    def minus_log(layer: int, number: int, made: int, query: int, key: int) -> torch.Tensor:
        return -whole[layer][made, number, query + length, key].log()

    [fact] = [(layer, number) for kind, layer, number in GUIDED if kind == FACT]
    copied = [(layer, number) for kind, layer, number in GUIDED if kind == COPIED]
    assert len(copied) == 2
    expected = [
        (minus_log(*fact, 0, 9, 3 + length) + minus_log(*fact, 1, 7, 2 + length)) / 2,
        minus_log(*fact, 1, 5, 0),
        *(minus_log(*head, 0, 11, 4 + length) for head in copied),
    ]
    torch.testing.assert_close(looked, torch.stack(expected), atol=1e-4, rtol=1e-4)
