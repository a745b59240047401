import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from aliases import ModelFolder
from hypothesis import example, given
from hypothesis import strategies as st

import rag_evaluator
from rag_evaluator import ConfigError, Judge, JudgementError, ScriptedJudge
from rag_evaluator.config import GenerateConfig, JudgeConfig, with_arguments
from rag_evaluator.files import safe_names, silent, write_wide_json
from rag_evaluator.prompts import AnswerInput, ReduceInput, SupportInput
from rag_evaluator.tasks import Reference
from tests.loaded_prompts import load_prompts

pytestmark = pytest.mark.usefixtures("own_folder")

NO = {"answerable": 0, "answer": ""}


def answer_with_facts(shown: Any) -> dict[str, Any]:
    """Answers with whatever facts (words that begin with 'F') it is shown; joins answers by their facts."""
    texts = shown.contexts if isinstance(shown, AnswerInput) else shown.answers
    facts = [word for text in texts for word in text.split() if word.startswith("F")]
    return {"answerable": 1, "answer": " ".join(facts)} if facts else NO


class Asked:
    """A scripted judge and what it was shown, in order."""

    def __init__(self, answer: Callable[[Any], Any] = answer_with_facts) -> None:
        self.shown: list[Any] = []

        def script(prompt: str, model: Any) -> Any:
            self.shown.append(prompt.data)  # type: ignore[attr-defined]
            return answer(self.shown[-1])

        def choices(prompt: str, options: Sequence[str]) -> str:
            shown: Any = prompt.data  # type: ignore[attr-defined]
            self.shown.append(shown)
            return options[0 if set(shown.answer.split()) & set(shown.context.split()) else 1]

        self.judge = ScriptedJudge(script, choices)

    def of(self, kind: type) -> list[Any]:
        return [shown for shown in self.shown if isinstance(shown, kind)]


def generate(judge: Any, contexts: Sequence[str], question: str = "Which facts?", **options: Any) -> Reference:
    """What is written about one question."""
    folder = Path(tempfile.mkdtemp(dir="."))
    config = {"generate": options}
    rag_evaluator.generate([question], [contexts], judge=judge, config=config, output_dir=folder, progress=silent)
    [path] = (folder / "gt").iterdir()
    return Reference(**json.loads(path.read_bytes()))


CONTEXTS = [f"Fact{number} stands here." if number % 3 == 0 else f"Nothing in {number}." for number in range(45)]
FACTS = {f"Fact{number}" for number in range(0, 45, 3)}


def test_groups_of_twenty_are_answered_and_joined_once() -> None:
    asked = Asked()
    reference = generate(asked.judge, CONTEXTS)
    assert [len(shown.contexts) for shown in asked.of(AnswerInput)] == [20, 20, 5]
    assert [len(shown.answers) for shown in asked.of(ReduceInput)] == [3]
    assert set(reference.ground_truth.split()) == FACTS
    assert (reference.parts, reference.answered, reference.reason) == (3, 3, None)
    assert reference.used == list(range(45))
    assert reference.supporting == list(range(0, 45, 3))
    assert reference.support == [1.0 if number % 3 == 0 else 0.0 for number in range(45)]


def test_the_shuffle_depends_on_the_seed_only() -> None:
    first, second, other = (Asked() for _ in range(3))
    for asked, seed in ((first, 0), (second, 0), (other, 1)):
        generate(asked.judge, CONTEXTS, seed=seed)
    assert first.shown == second.shown != other.shown
    assert sorted(text for shown in first.of(AnswerInput) for text in shown.contexts) == sorted(CONTEXTS)


def test_in_slow_mode_every_context_is_asked_alone_in_order() -> None:
    asked = Asked()
    reference = generate(asked.judge, CONTEXTS, fast=False)
    assert [shown.contexts for shown in asked.of(AnswerInput)] == [[text] for text in CONTEXTS]
    assert set(reference.ground_truth.split()) == FACTS
    assert reference.used == reference.supporting == list(range(0, 45, 3))
    assert reference.parts == 45


@pytest.mark.parametrize(
    ("contexts", "answer", "reason", "not_asked"),
    [
        (["Nothing.", "Fact1 is here."], "Fact1", None, ReduceInput),
        (["Nothing."] * 50, "", "the judge finds the answer in no context", SupportInput),
        ([], "", "there is no context", AnswerInput),
        (["", "  "], "", "there is no context", AnswerInput),
    ],
)
def test_nothing_is_asked_in_vain(contexts: list[str], answer: str, reason: str | None, not_asked: type) -> None:
    asked = Asked()
    reference = generate(asked.judge, contexts, fast=len(contexts) != 2)
    assert (reference.ground_truth, reference.reason) == (answer, reason)
    assert (reference.used, reference.supporting) == (([1], [1]) if answer else ([], None))
    assert asked.of(not_asked) == []


def test_a_row_without_a_question_has_no_reference() -> None:
    assert generate(Asked().judge, ["Fact1"], question=" ").reason == "there is no question"


def test_a_judge_who_denies_the_answer_when_joining_leaves_it_empty_with_that_reason() -> None:
    asked = Asked(lambda shown: NO if isinstance(shown, ReduceInput) else answer_with_facts(shown))
    reference = generate(asked.judge, CONTEXTS)
    assert (reference.ground_truth, reference.answered) == ("", 3)
    assert reference.reason == "the judge found no answer when it joined those of the parts"


def test_joining_always_ends_even_if_answers_grow() -> None:
    def growing(shown: Any) -> dict[str, Any]:
        texts = shown.contexts if isinstance(shown, AnswerInput) else shown.answers
        return {"answerable": 1, "answer": " and ".join(texts)}

    asked = Asked(growing)
    reference = generate(asked.judge, [f"F{number}" for number in range(100)], fast=False)
    assert sorted(reference.ground_truth.split(" and ")) == sorted(f"F{number}" for number in range(100))
    assert [len(shown.answers) for shown in asked.of(ReduceInput)] == [20] * 5 + [5]


def failing(fails: Callable[[Any], bool]) -> ScriptedJudge:
    """A judge that fails at some questions."""

    def answer(shown: Any) -> Any:
        if fails(shown):
            raise JudgementError("the budget ended")
        return answer_with_facts(shown)

    return Asked(answer).judge


def test_a_part_that_fails_is_counted_and_is_the_reason_where_all_fail() -> None:
    reference = generate(failing(lambda shown: "Fact0 stands here." in getattr(shown, "contexts", [])), CONTEXTS)
    assert set(reference.ground_truth.split()) < FACTS
    assert (reference.failed, reference.answered) == ({"the budget ended": 1}, 2)
    assert generate(failing(lambda shown: True), ["Fact1"]).reason == "the budget ended"


def test_answers_that_the_judge_fails_to_join_are_put_one_after_the_other() -> None:
    judge = failing(lambda shown: isinstance(shown, ReduceInput))
    reference = generate(judge, ["Fact1 here.", "Fact2 here."], fast=False)
    assert (reference.ground_truth, reference.unjoined) == ("Fact1\nFact2", 2)


def test_where_support_cannot_be_asked_the_answer_stays_and_that_is_reported() -> None:
    asked = Asked()
    asked.judge.choices = lambda prompt, options: "neither"
    reference = generate(asked.judge, ["Fact1 is here.", "Nothing."])
    assert (reference.ground_truth, reference.used) == ("Fact1", [0, 1])
    assert (reference.supporting, reference.support) == (None, None)
    assert sum(reference.failed.values()) == 1


@pytest.mark.parametrize(
    ("count", "size", "levels"), [(5, 20, [5]), (21, 20, [10, 11, 2]), (7, 2, [2, 2, 3, 3]), (9, 4, [3, 3, 3, 3])]
)
def test_answers_are_joined_in_groups_of_nearly_equal_size_level_by_level(
    count: int, size: int, levels: list[int]
) -> None:
    asked = Asked()
    reference = generate(asked.judge, [f"Fact{number}" for number in range(count)], fast=False, group_size=size)
    assert [len(shown.answers) for shown in asked.of(ReduceInput)] == levels
    assert reference.ground_truth.split() == [f"Fact{number}" for number in range(count)]


def test_groups_smaller_than_two_are_refused() -> None:
    with pytest.raises(ConfigError, match="group_size is 1"):
        with_arguments(GenerateConfig(), group_size=1)


@pytest.mark.parametrize("window", [1600, 2400])
def test_with_a_real_model_every_prompt_fits_its_window(model_folder: ModelFolder, window: int) -> None:
    folder = model_folder("llama-bytelevel", max_position_embeddings=window)
    judge = Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=128))
    contexts = ["Nolu Brak was born in Tesk. " * repeated for repeated in (1, 3, 200, 0, 2, 1)] * 4
    for fast in (True, False):
        reference = generate(judge, contexts, question="Where was Nolu Brak born?", fast=fast, support=False)
        assert not [message for message in reference.failed if "raise judge.max_new_tokens" not in message]
        assert reference.parts > (5 if fast else 20)
        assert reference.ground_truth or reference.reason


def test_a_question_that_fills_the_window_gets_the_reason(model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel", max_position_embeddings=1300)
    judge = Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=128))
    assert "fills the model's window" in str(generate(judge, ["Tesk."], question="Where was he? " * 400).reason)


def test_file_names_are_safe_and_all_different(tmp_path: Path) -> None:
    texts = ["东方航空公司主营业务", "Who?", "who", "Who?", "a/b", "a?b", "../../etc/passwd", "", "...", "a/b\\c"]
    texts += ["x" * 500, "x" * 501, "很" * 200, "con\n\x00\ud800"]
    names = safe_names(texts)
    assert names[:4] == ["东方航空公司主营业务", "Who", "who_2", "Who_3"]
    assert len({name.casefold() for name in names}) == len(texts)
    for name, text in zip(names, texts, strict=True):
        assert 0 < len(f"GT_{name}.json".encode()) < 255
        assert not set(name) & set('/\\:*?"<>|\n\x00')
        write_wide_json(tmp_path / "gt" / f"GT_{name}.json", {"question": text})
    assert len([*tmp_path.glob("gt/GT_*.json")]) == len(texts)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                    | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
@example({"contexts": ["[\n 1,\n 2\n]"], "support": [0.5, 1e-07]})
def test_json_with_number_lists_on_one_line_says_the_same(value: Any) -> None:
    with TemporaryDirectory() as folder:
        write_wide_json(Path(folder) / "a.json", value)
        assert json.loads((Path(folder) / "a.json").read_bytes()) == value


def test_an_answer_that_is_the_example_of_the_prompt_is_no_reference() -> None:
    prompt = load_prompts(["generate"], "english", Path())["generate", "answer_prompt"]
    copied = next(e["output"] for e in prompt.pack.examples if e["output"]["answerable"])
    reference = generate(Asked(lambda shown: copied).judge, ["Fact1 is here."])
    assert (reference.ground_truth, reference.reason) == ("", "the judge repeats the example of its prompt")
