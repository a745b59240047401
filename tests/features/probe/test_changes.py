"""What the probes make of rows: changed by hand-checked rules, seeded, certain or left out."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from rag_evaluator import METRICS, load_dataset
from rag_evaluator.config import find_language
from rag_evaluator.dataset import Sample
from rag_evaluator.features.probe.changes import good_side
from rag_evaluator.features.probe.facts import EVASIVE, holds, normalised, shared
from rag_evaluator.features.probe.figures import PROBES, ChangedRow, pairs_of

DATA: Mapping[str, list[tuple[str, str, str, str]]] = {
    "english": [
        ("Where was Lira born?", "She was born in Tesk.", "The engineer Lira Vosk was born in Tesk in 1921.", "1921"),
        ("How high is Selo?", "It has 812 metres.", "Near Pardo the summit of Mount Selo has 812 metres.", "812"),
        ("Who built the bridge?", "Dana Mirol built it.", "The bridge was built by Dana Mirol in 1954.", "1954"),
        ("How many live there?", "There are 440 people.", "In the town of Orman there are 440 people.", "440"),
    ],
    "german": [
        ("Wo lebte Lira?", "Sie lebte in New Holland.", "Die Frau Lira Vosk lebte 1921 in New Holland.", "1921"),
        ("Wie hoch ist er?", "Er hat 812 Meter.", "Der Berg am See hat 812 Meter.", "812"),
        ("Wer war es?", "Das war Dana Mirol.", "Gebaut hat das 1954 die Frau Dana Mirol.", "1954"),
        ("Wie viele?", "Dort leben 440 Menschen.", "Im Dorf am Fluss leben 440 Menschen.", "440"),
    ],
    "chinese": [
        ("莉拉出生在哪里？", "她1921年出生。", "工程师莉拉在特斯克出生，那是1921年。", "1921"),
        ("塞洛山有多高？", "有812米。", "塞洛山高812米。", "812"),
        ("谁写的？", "是达娜写的《大桥之歌》。", "达娜在1954年写了《大桥之歌》。", "1954"),
        ("有多少人？", "有440人读过《小河之书》。", "村里有440人读过《小河之书》。", "440"),
    ],
    "arabic": [
        ("متى ولدت ليرا؟", "ولدت عام ١٩٢١.", "ولدت المهندسة ليرا في تسك عام ١٩٢١.", "١٩٢١"),
        ("ما ارتفاع الجبل؟", "ارتفاعه 812 مترا.", "يبلغ ارتفاع جبل سيلو 812 مترا.", "812"),
        ("متى بني الجسر؟", "بني عام ١٩٥٤.", "بنت دانا الجسر عام ١٩٥٤ في القرية.", "١٩٥٤"),
        ("كم عدد السكان؟", "هناك 440 شخصا.", "يعيش في القرية 440 شخصا.", "440"),
    ],
}
REMARKS = {
    "english": "The river is long and calm.",
    "german": "Der Fluss ist lang und ruhig.",
    "chinese": "河流又长又平静。",
    "arabic": "النهر طويل وهادئ.",
}
LANGUAGES = list(DATA)


def rows_in(language: str) -> list[dict[str, Any]]:
    """Rows of which each has a context with the answer, and one without, in a text of its own."""
    return [
        {
            "user_input": question,
            "retrieved_contexts": [context, f"{REMARKS[language]} {chr(ord('A') + number)}{number + 3}x"],
            "response": f"{answer} ",
            "reference": answer,
            "reference_contexts": [context],
        }
        for number, (question, answer, context, _) in enumerate(DATA[language])
    ]


def made(rows: list[dict[str, Any]], language: str, seed: int = 0, size: int = 100) -> list[ChangedRow]:
    return pairs_of(load_dataset(rows), size, find_language(language), seed)[1]


def of(pairs: list[ChangedRow], probe: str) -> list[ChangedRow]:
    return [pair for pair in pairs if pair.probe == probe]


def texts_of(sample: Sample) -> list[str]:
    return [sample.columns["user_input"], sample.columns["reference"], *sample.columns["retrieved_contexts"]]


def test_the_metrics_of_the_probes_are_metrics() -> None:
    named = {name for probe in PROBES.values() for name in probe.metrics}
    assert named <= set(METRICS)
    judged = {name for name, metric in METRICS.items() if metric.judge}
    rubrics = {"instance_specific_rubrics", "rubrics_score_with_reference", "rubrics_score_without_reference"}
    others = {"context_entity_recall", "noise_sensitivity", "refusal_correctness", "summary_score"}
    assert judged - named == rubrics | others, "a new metric stands in a probe, or is named here"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_changed_number_is_one_of_the_dataset_that_the_row_does_not_know(language: str) -> None:
    pairs = of(made(rows_in(language), language), "changed_number")
    assert len(pairs) >= 2
    known = {number for *_, number in DATA[language]}
    for pair in pairs:
        good = pair.good.columns["response"]
        bad = pair.changed["response"]
        [new] = [number for number in known if number in bad and number not in good]
        assert not any(holds(text, new) for text in texts_of(pair.good))
        [old] = [number for number in known if number in good]
        assert bad == good.replace(old, new)


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("english", {"Tesk", "Pardo", "Orman", "Dana Mirol", "Lira Vosk", "Mount Selo"}),
        ("german", {"New Holland", "Dana Mirol", "Frau Lira Vosk", "Lira Vosk"}),
        ("chinese", {"大桥之歌", "小河之书"}),
    ],
)
def test_a_changed_name_is_one_of_the_dataset_that_the_row_does_not_know(language: str, names: set[str]) -> None:
    pairs = of(made(rows_in(language), language), "changed_name")
    assert pairs
    for pair in pairs:
        new = next(name for name in sorted(names, key=len, reverse=True) if name in pair.changed["response"])
        assert not any(holds(text, new) for text in texts_of(pair.good))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_contradiction_is_a_context_sentence_with_another_number_or_name(language: str) -> None:
    pairs = of(made(rows_in(language), language), "contradiction")
    assert pairs
    for pair in pairs:
        good = pair.good.columns["response"]
        bad = pair.changed["response"]
        assert bad.startswith(good)
        added = bad.removeprefix(good).strip()
        context = pair.good.columns["retrieved_contexts"][0]
        assert normalised(added) != normalised(context)
        same = sum(first == second for first, second in zip(added, context, strict=False))
        assert same > 3 or added[-5:] == context[-5:]


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_answers_and_contexts_are_those_of_rows_that_do_not_help(language: str) -> None:
    pairs = made(rows_in(language), language)
    assert of(pairs, "other_answer")
    for pair in of(pairs, "other_answer"):
        text = pair.changed["response"]
        assert text in [answer for _, answer, *_ in DATA[language]]
        assert shared(text, pair.good.columns["response"]) <= 0.5
    assert of(pairs, "other_contexts")
    for pair in of(pairs, "other_contexts"):
        assert not any(holds(text, pair.good.columns["response"]) for text in pair.changed["retrieved_contexts"])
        assert not set(pair.changed["retrieved_contexts"]) & set(pair.good.columns["retrieved_contexts"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_expected_contexts_come_last_and_controls_say_the_same(language: str) -> None:
    pairs = made(rows_in(language), language)
    assert of(pairs, "dropped_context")
    for pair in of(pairs, "dropped_context"):  # the context with the reference is the first
        assert pair.changed["retrieved_contexts"] == pair.good.columns["retrieved_contexts"][1:]
    for pair in of(pairs, "shuffled_contexts"):
        assert pair.changed["retrieved_contexts"] == pair.good.columns["retrieved_contexts"][::-1]
    for pair in of(pairs, "same_text"):
        assert normalised(pair.changed["response"]) == normalised(pair.good.columns["response"])
        assert pair.changed["response"] != pair.good.columns["response"]
    for pair in of(pairs, "longer"):
        twice = f"{pair.good.columns['response']} {pair.good.columns['response']}"
        assert normalised(pair.changed["response"]) == normalised(twice)
    assert [len(of(pairs, probe)) for probe in ("shuffled_contexts", "same_text", "longer", "evasive")] == [4] * 4


def test_the_good_side_has_the_reference_for_its_response_and_nothing_that_belongs_to_the_old_contexts() -> None:
    row = {**rows_in("english")[0], "retrieved_context_ids": ["a", "b"], "own": 1}
    [sample] = load_dataset([row])
    good = good_side(sample)
    assert good.columns["response"] == row["reference"]
    assert "retrieved_context_ids" not in good.columns
    assert good.row["own"] == 1


def test_the_choice_is_the_same_for_any_order_of_rows_and_another_for_another_seed() -> None:
    rows = [{**row, "user_input": f"{row['user_input']} {number}"} for number in range(8) for row in rows_in("english")]
    shuffled = random.Random(5).sample(rows, len(rows))

    def found(rows: list[dict[str, Any]], seed: int) -> list[str]:
        pairs = made(rows, "english", seed, size=6)
        return sorted(f"{pair.good.columns['user_input']}|{pair.probe}|{pair.changed}" for pair in pairs)

    assert found(rows, 0) == found(shuffled, 0)
    assert found(rows, 0) != found(rows, 1)


def test_rows_with_the_same_question_do_not_lend_each_other_answers_and_contexts() -> None:
    rows = [{**row, "user_input": "One question?"} for row in rows_in("english")]
    assert {pair.probe for pair in made(rows, "english")}.isdisjoint({"other_answer", "other_contexts"})


@pytest.mark.parametrize(
    ("row", "probes"),
    [
        ({"user_input": "Where?"}, set()),
        ({"user_input": "Where?", "response": None, "retrieved_contexts": ["In Tesk."]}, set()),
        ({"user_input": "Where?", "response": " ", "retrieved_contexts": []}, set()),
        ({"user_input": "Where?", "response": "In Tesk."}, {"evasive", "same_text", "longer"}),
        ({"response": "In Tesk."}, {"evasive", "same_text", "longer"}),
        ({"user_input": "Where?", "response": "…", "reference": "।"}, {"evasive", "same_text", "longer"}),
    ],
)
def test_a_row_gets_the_probes_that_its_columns_allow(row: dict[str, Any], probes: set[str]) -> None:
    assert {pair.probe for pair in made([row], "english")} == probes


@pytest.mark.parametrize(
    "response",
    ["It is not in Tesk.", "Was it in Tesk?", "It was in Tesk or Selo.", "It holds more than 812 people."],
)
def test_what_may_hold_of_something_else_is_not_changed(response: str) -> None:
    rows = [{**rows_in("english")[0], "reference": response}, *rows_in("english")[1:]]
    changed = [pair for pair in made(rows, "english") if pair.row == 0]
    assert {pair.probe for pair in changed}.isdisjoint({"changed_name", "changed_number"})


def test_a_context_is_dropped_only_if_it_alone_helps() -> None:
    row = rows_in("english")[0]
    both = {**row, "retrieved_contexts": [row["retrieved_contexts"][0], "People say: she was born in Tesk."]}
    assert of(made([both, *rows_in("english")[1:]], "english"), "dropped_context")[0].row != 0
    written_freely = {**row, "reference": "The engineer was born in a place called Tesk."}
    assert of(made([written_freely, *rows_in("english")[1:]], "english"), "dropped_context")[0].row == 0


def test_an_evasive_answer_is_known_in_every_language_of_the_packs() -> None:
    packs = {"arabic", "chinese", "english", "french", "german", "hindi", "italian", "japanese", "korean"}
    assert {*packs, "portuguese", "spanish"} <= set(EVASIVE)
    assert not of(made(rows_in("english"), "swahili"), "evasive")
