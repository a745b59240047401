"""Users' own metrics that ask the judge: what is asked, what the score is, and that all else holds for them, too."""

import json
import math
from pathlib import Path
from typing import Any, cast

import pytest
from aliases import Json, ModelFolder, Rows
from pydantic import BaseModel
from ragas.metrics.result import MetricResult

from rag_evaluator import (
    METRICS,
    RAGEvaluator,
    ScriptedJudge,
    read_questions,
)
from rag_evaluator.config import make_config
from rag_evaluator.judge import tighten
from rag_evaluator.metrics import Metric, chosen_metrics
from rag_evaluator.prompts import CustomOutput, FilterInput, FilterOutput, OwnPrompt, prompt_models

ROOT = Path(__file__).parents[2]
SCALE = {0: "rude", 1: "neutral", 2: "polite"}
TONE: Json = {"question": "Is it polite?", "columns": ["user_input", "response"], "scale": SCALE}
EXAMPLE = {"user_input": "Hi?", "response": "Go away.", "reason": "It is rude.", "label": "rude"}


class Labels(ScriptedJudge):
    """Gives the length of the response modulo 3, or what it is given."""

    def __init__(self, label: int | None = None, model_id: str | None = "labels") -> None:
        super().__init__(self._say, model_id=model_id)
        self.label = label

    def _say(self, prompt: str, response_model: type[BaseModel]) -> Json:
        values = asked(prompt)["values"]
        label = len(values.get("response", "")) % 3 if self.label is None else self.label
        return {"reason": f"because of {values}", "label": label}


def asked(prompt: str) -> Json:
    found: Json = json.loads(prompt.rpartition("\ninput: ")[2].removesuffix("\nOutput: "))
    return found


def evaluator(judge: Any = None, metrics: Any = "tone", **tone: Any) -> RAGEvaluator:
    config = {"metrics": metrics, "custom_metrics": {"tone": {**TONE, **tone}}}
    return RAGEvaluator(config, Labels() if judge is None else judge)


def test_the_score_is_the_label_that_the_judge_gives_with_its_reason(rows: Rows) -> None:
    results = evaluator().evaluate(rows)
    assert [score.value for score in results.scores["tone"]] == [len(row["response"]) % 3 for row in rows]
    [judgement] = results.scores["tone"][0].judgements
    assert judgement["response"]["reason"].startswith("because of {'user_input': 'Where was Nolu Brak born?'")


def test_the_judge_is_shown_question_scale_and_the_columns_of_the_row(rows: Rows) -> None:
    judge = Labels()
    evaluator(judge, columns=["answer", "contexts"]).evaluate(rows[:1])
    assert asked(judge.prompts[0]) == {
        "question": "Is it polite?",
        "scale": {"0": "rude", "1": "neutral", "2": "polite"},
        "values": {
            "response": "Nolu Brak was born in Tesk.",
            "retrieved_contexts": "1. Nolu Brak was born in Tesk.\n\n2. Tesk lies on the river Om.",
        },
    }


def test_an_optional_column_is_shown_of_the_rows_that_have_it(rows: Rows) -> None:
    judge = Labels()
    example = {"response": "No.", "reason": "It is short.", "label": 0}
    written = [{**rows[0], "reference": "In Tesk."}, {**rows[0], "reference": None}, {"user_input": "Why?"}]
    results = evaluator(judge, columns=["ground_truth:optional", "response"], examples=[example]).evaluate(written)
    assert [list(asked(prompt)["values"]) for prompt in judge.prompts] == [["reference", "response"], ["response"]]
    assert results.scores["tone"][2].reason == "no response in this row"
    [none] = evaluator(judge, columns=["reference:optional"]).evaluate([{"user_input": "Why?"}]).scores["tone"]
    assert none.reason == "the row has none of reference"


def test_a_column_that_is_divided_by_a_mark_is_shown_as_contexts() -> None:
    judge = Labels()
    config = {"columns": {"found": "retrieved_contexts[|]"}, "custom_metrics": {"tone": {**TONE, "columns": ["found"]}}}
    RAGEvaluator({**config, "metrics": "tone"}, judge).evaluate([{"found": "In Tesk.|By the Om."}])
    assert asked(judge.prompts[0])["values"] == {"retrieved_contexts": "1. In Tesk.\n\n2. By the Om."}


def test_columns_of_the_user_are_shown_as_they_are_and_a_row_without_one_has_no_score(rows: Rows) -> None:
    judge = Labels()
    tags = [["a", "b"], 3, None]
    scores = evaluator(judge, columns=["tags"]).evaluate(
        [{**row, "tags": tag} for row, tag in zip(rows, tags, strict=True)]
    )
    assert [asked(prompt)["values"] for prompt in judge.prompts] == [{"tags": "1. a\n\n2. b"}, {"tags": "3"}]
    assert [score.reason for score in scores.scores["tone"]] == [None, None, "no tags in this row"]


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ({0: "rude", 2: "polite"}, {0: "rude", 2: "polite"}),
        ({"2": "polite", "-1": "rude"}, {-1: "rude", 2: "polite"}),
        (["fail", "pass"], {0: "fail", 1: "pass"}),
        ("-1 .. 1", {-1: "min", 0: "", 1: "max"}),
    ],
    ids=str,
)
def test_a_scale_may_be_written_in_several_forms(written: Any, labels: dict[int, str], rows: Rows) -> None:
    judge = Labels(0)
    evaluator(judge, scale=written).evaluate(rows[:1])
    assert list(asked(judge.prompts[0])["scale"].items()) == [(str(label), text) for label, text in labels.items()]
    metric = chosen_metrics(make_config({"metrics": "tone", "custom_metrics": {"tone": {**TONE, "scale": written}}}))
    assert metric["tone"].scale[:2] == (min(labels), max(labels))


def test_the_answer_is_bound_to_the_labels_of_the_scale() -> None:
    asked, _ = prompt_models()["custom", "prompt"]
    data = asked(question="q", scale={"-1": "a", "10": "b", "2": "c"}, values={})
    assert tighten(CustomOutput, data)["properties"]["label"] == {"enum": [-1, 10, 2]}


@pytest.mark.parametrize(("scale", "labels"), [("0..10", range(11)), ({-1: "bad", 1: "good"}, (-1, 1))])
def test_a_model_that_says_anything_gives_a_label_of_the_scale_with_its_probability(
    model_folder: ModelFolder, rows: Rows, scale: Any, labels: Any
) -> None:
    judge = {"model": str(model_folder("llama-bytelevel")), "max_new_tokens": 16, "dtype": "float32"}
    config = {"metrics": "tone", "custom_metrics": {"tone": {**TONE, "scale": scale}}, "judge": judge}
    for score in RAGEvaluator(config).evaluate(rows).scores["tone"]:
        assert score.value in labels
        assert score.judgements[0]["confidence"]


def test_a_judge_that_is_bound_to_nothing_and_leaves_the_scale_gives_no_score(rows: Rows) -> None:
    [score] = evaluator(Labels(7)).evaluate(rows[:1]).scores["tone"]
    assert math.isnan(score.value)
    assert score.reason == "the label is 7: expected one of 0, 1, 2"


def test_the_user_s_examples_take_the_place_of_the_prompt_s(rows: Rows) -> None:
    usual = Labels()
    own = Labels()
    evaluator(usual).evaluate(rows[:1])
    evaluator(own, examples=[EXAMPLE]).evaluate(rows[:1])
    assert "Red Harbour" in usual.prompts[0]
    assert "Red Harbour" not in own.prompts[0]
    assert (
        '"response": "Go away."\n    }\n}\nOutput: {\n    "reason": "It is rude.",\n    "label": 0\n}' in own.prompts[0]
    )


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"question": "Is it kind?"}, False),
        ({"scale": {0: "rude", 1: "neutral", 2: "kind"}}, False),
        ({"columns": ["response"]}, False),
        ({"examples": [EXAMPLE]}, False),
        ({"scale": ["rude", "neutral", "polite"]}, True),
        ({"columns": ["question", "answer"]}, True),
        ({"stage": "retrieval"}, True),
    ],
    ids=str,
)
def test_the_signature_changes_with_what_the_judge_is_shown(changed: Json, same: bool) -> None:
    assert (evaluator(**changed).signatures() == evaluator().signatures()) is same


def test_scores_are_made_anew_where_a_column_that_the_metric_reads_has_changed(rows: Rows, tmp_path: Path) -> None:
    first = [{**row, "channel": "mail", "note": 1} for row in rows]
    evaluator(columns=["response", "channel"]).evaluate(first, folder=tmp_path)
    second = [{**first[0], "note": 2}, {**first[1], "channel": "phone"}, first[2]]
    judge = Labels()
    evaluator(judge, columns=["response", "channel"]).evaluate(second, folder=tmp_path, start="update")
    assert [asked(prompt)["values"]["channel"] for prompt in judge.prompts] == ["phone"]


def test_the_questions_can_be_read_again(rows: Rows, tmp_path: Path) -> None:
    judge = Labels()
    scored = [{**row, "channel": "mail"} for row in rows]
    config = {
        "metrics": "tone",
        "custom_metrics": {"tone": {**TONE, "columns": ["response", "contexts", "channel"]}},
    }
    RAGEvaluator(config, judge).evaluate(scored, folder=tmp_path)
    assert [question["text"] for question in read_questions(tmp_path)] == judge.prompts
    details = (tmp_path / "details.jsonl").read_text("utf-8").splitlines()
    assert json.loads(details[0])["judgements"][0]["input"]["values"] == {
        "object": {
            "response": {"column": "response"},
            "retrieved_contexts": {"column": "retrieved_contexts", "items": 2, "numbered": True},
            "channel": "mail",
        }
    }


def test_a_question_in_the_language_of_the_run_is_put_in_the_prompt_of_that_language(rows: Rows) -> None:
    judge = Labels()
    config = {"metrics": "tone", "custom_metrics": {"tone": {**TONE, "question": "¿Es cortés?"}}, "language": "es"}
    RAGEvaluator(config, judge).evaluate(rows[:1])
    assert judge.prompts[0].startswith(
        json.loads((ROOT / "prompts" / "spanish" / "custom_prompt_spanish.json").read_bytes())["instruction"]
    )
    assert asked(judge.prompts[0])["question"] == "¿Es cortés?"


class Answered:
    """A metric in ten lines: does the response alone answer the question?"""

    def __init__(self, llm: Any) -> None:
        self.llm = llm
        self.prompt = OwnPrompt("sort", "filter_prompt")

    async def ascore(self, user_input: str, response: str) -> MetricResult:
        question = self.prompt.to_string(FilterInput(user_input=user_input, context=response))
        return MetricResult(value=(await self.llm.agenerate(question, FilterOutput)).verdict)


def test_adding_a_metric_is_one_row_and_its_packs(monkeypatch: pytest.MonkeyPatch, rows: Rows, tmp_path: Path) -> None:
    row = Metric(f"{__name__}:Answered", ("user_input", "response"), prompts=("prompt",))
    monkeypatch.setitem(cast(dict[str, Metric], METRICS), "answered", row)
    examples = [{"input": {"user_input": "q", "context": "c"}, "output": {"verdict": 0}}]
    pack = {"language": "spanish", "instruction": "¿Responde?", "examples": examples}
    (tmp_path / "answered_prompt_spanish.json").write_text(json.dumps(pack), "utf-8")
    judge = ScriptedJudge([{"verdict": 1}, {"verdict": 0}, {"verdict": 0}])
    config = {"metrics": "answered", "language": "spanish", "prompts_dir": tmp_path}
    scores = RAGEvaluator(config, judge).evaluate(rows).scores["answered"]
    assert [score.value for score in scores] == [1, 0, 0]
    assert all(prompt.startswith("¿Responde?") for prompt in judge.prompts)
