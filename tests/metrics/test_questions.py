"""Every question to the judge can be read again: from details and prompts.json, or kept in full."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from test_ragas_equality import HashEmbeddings, answer_at_random

from rag_evaluator import (
    METRICS,
    PromptTooLongError,
    RAGEvaluator,
    ResultsError,
    ScriptedJudge,
    read_questions,
)
from rag_evaluator.embeddings import LocalEmbeddings
from rag_evaluator.files import short_digest
from rag_evaluator.judge import as_judge
from rag_evaluator.metrics import SUPPORT, Recorder
from rag_evaluator.prompts import Key, TracedPrompt
from rag_evaluator.results import put_together, questions_of
from tests.loaded_prompts import load_prompts

ROOT = Path(__file__).parents[2]
JUDGED = [name for name, metric in METRICS.items() if metric.judge]
FAR = "too far for the window"
AWKWARD = 'Núria said "no" {here}</s>\n¿y tú? \\ 😀 שלום \x07\x7f\u2028'
ROWS: list[Json] = [
    {
        "question": f"Where was she born? {AWKWARD}",
        "contexts": [f"In Tesk. {AWKWARD}", "Tesk lies on the Om.", f"{FAR}: Om."],
        "answer": f"{AWKWARD} In Tesk.",
        "ground_truth": "input: {}\nOutput: Tesk",
        "correct_context": [f"In Tesk. {AWKWARD}", "Where?"],
        "rubrics": {"score1_description": AWKWARD, "score5_description": "low"},
    },
    {
        **{"question": "low", "contexts": ["low"], "answer": "low", "ground_truth": "low", "note": AWKWARD},
        **{"correct_context": ["low"], "rubrics": {"score1_description": "low", "score5_description": "low"}},
    },
    {
        **{"question": "q", "contexts": ["q", "q", "a\nb", "a", "b"], "answer": "a", "ground_truth": "a\nb"},
        **{"correct_context": ["a", "b"], "rubrics": {"score2_description": "a\nb", "score1_description": "q"}},
    },
]
LANGUAGES = ("english", "spanish")


class Judge(ScriptedJudge):
    """Answers at random; what lies far does not fit its window."""

    def __init__(self) -> None:
        super().__init__(self._say, model_id="random")

    @staticmethod
    def _say(prompt: str, response_model: type[BaseModel]) -> Json:
        if FAR in prompt:
            raise PromptTooLongError("too long")
        answer: Json = answer_at_random(prompt, response_model)
        return answer


def evaluator(metrics: list[str], **config: Any) -> RAGEvaluator:
    config = {"metrics": metrics, "prompts_dir": str(ROOT / "prompts"), **config}
    return RAGEvaluator(config, judge=Judge(), embeddings=LocalEmbeddings(HashEmbeddings()))


def lines_of(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "details.jsonl").read_text("utf-8").split("\n")[:-1]]


@pytest.fixture(scope="module", params=LANGUAGES)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A results folder with every metric that asks, and all that was asked."""
    evaluation = evaluator(JUDGED, language=request.param)
    folder = evaluation.evaluate(ROWS).write(tmp_path_factory.mktemp(request.param))
    assert evaluation.judge is not None
    return folder, set(evaluation.judge.model.prompts)


@pytest.mark.parametrize("metric", JUDGED)
def test_every_question_to_the_judge_is_put_together_again_from_the_results_folder(
    metric: str, judged: tuple[Path, set[str]]
) -> None:
    folder, asked = judged
    judgements = [one for line in lines_of(folder) if line["metric"] == metric for one in line["judgements"]]
    questions = [question for question in read_questions(folder) if question["metric"] == metric]
    assert [question["prompt_digest"] for question in questions] == [one["prompt_digest"] for one in judgements]
    assert {question["prompt"] for question in questions} == set(METRICS[metric].prompts)
    for question in questions:
        assert short_digest(question["text"]) == question["prompt_digest"]
        assert question["text"] in asked
    assert {question["row"] for question in questions} >= {0, 2}  # an easy row may need no judge


def test_details_name_the_columns_in_place_of_copying_them(judged: tuple[Path, set[str]]) -> None:
    by_sentence = ("context_relevancy", *SUPPORT)  # a sentence is a part of a column
    lines = [line for line in lines_of(judged[0]) if line["metric"] not in by_sentence]
    inputs = [json.dumps(one["input"]) for line in lines for one in line["judgements"]]
    assert not [text for text in inputs if "N\\u00faria said" in text]
    by_metric = {line["metric"]: line["judgements"] for line in lines_of(judged[0]) if line["row"] == 0}
    assert by_metric["context_precision_with_reference"][1]["input"] == {
        "question": {"column": "user_input"},
        "context": {"column": "retrieved_contexts", "item": 1},
        "answer": {"column": "reference"},
    }
    assert by_metric["instance_specific_rubrics"][0]["input"]["rubrics"] == {"column": "rubrics"}
    assert by_metric["faithfulness"][1]["input"] == {
        "context": {"column": "retrieved_contexts", "items": 2, "joined": "\n"},  # the third does not fit
        "statements": {"judgement": 0, "key": "statements"},
    }


def test_instruction_and_examples_are_written_once(judged: tuple[Path, set[str]]) -> None:
    prompts = json.loads((judged[0] / "prompts.json").read_bytes())
    assert {(metric, name) for metric, row in prompts.items() for name in row} == {
        (metric, name) for metric in JUDGED for name in METRICS[metric].prompts
    }
    for line in lines_of(judged[0]):
        for one in line["judgements"]:
            assert prompts[line["metric"]][one["prompt"]]["source_digest"] == one["source_digest"]
    assert "prompt_texts" not in json.loads((judged[0] / "manifest.json").read_bytes())


@pytest.fixture(scope="module")
def english() -> dict[Key, TracedPrompt]:
    return load_prompts([*JUDGED, "sort", "generate"], "english", ROOT)


@settings(deadline=None)
@given(text=st.text(), texts=st.lists(st.text(), max_size=3), level=st.sampled_from(["low", "high"]))
def test_any_text_in_any_prompt_is_put_together_again(
    english: dict[Key, TracedPrompt], text: str, texts: list[str], level: str
) -> None:
    for prompt in english.values():
        model = prompt.prompt.input_model
        kinds = {name: str(field.annotation) for name, field in model.model_fields.items()}
        by_kind = {"list": texts, "dict": dict.fromkeys(texts, text)}
        values = {
            name: by_kind.get(next(iter(re.findall("list|dict", k.lower())), ""), text) for name, k in kinds.items()
        }
        data = model(**{name: level if name in ("atomicity", "coverage") else value for name, value in values.items()})
        assert put_together(prompt.frames, prompt.to_string(data).values or {}) == prompt.to_string(data)


def test_a_prompt_that_is_none_of_ours_is_recorded_whole() -> None:
    recorder = Recorder(as_judge(ScriptedJudge([{"rating": 1}])), {"user_input": AWKWARD})

    class Rating(BaseModel):
        rating: int

    asyncio.run(recorder.agenerate(AWKWARD, Rating))
    line = {"row": 0, "metric": "own", "judgements": recorder.judgements}
    assert [question["text"] for question in questions_of(line, {}, {})] == [AWKWARD]


def test_questions_about_other_rows_than_those_judged_are_refused(tmp_path: Path) -> None:
    metrics = ["context_relevance"]
    changed = [{**row, "question": "another"} for row in ROWS]
    folder = evaluator(metrics).evaluate(ROWS).write(tmp_path / "judged")
    shutil.copy(folder / "details.jsonl", evaluator(metrics).evaluate(changed).write(tmp_path / "changed"))
    with pytest.raises(ResultsError, match="row 0, context_relevance: its columns are not those that were judged"):
        list(read_questions(tmp_path / "changed"))


def test_questions_are_read_from_the_scored_rows_whatever_became_of_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    folder = evaluator(["faithfulness", "context_recall"], dataset=str(path)).evaluate().write(tmp_path / "run")
    asked = list(read_questions(folder))
    assert len(asked) == 9
    path.write_text(json.dumps({"question": "other", "contexts": ["other"]}), "utf-8")
    assert list(read_questions(folder)) == asked


def test_the_recipe_of_the_docs_prints_the_questions_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    evaluator(["faithfulness"]).evaluate(ROWS * 2).write(tmp_path / "results" / "demo")
    monkeypatch.chdir(tmp_path)
    [recipe] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "results.md").read_text("utf-8"), flags=re.DOTALL)
    exec(recipe)
    texts = [question["text"] for question in read_questions(tmp_path / "results" / "demo", row=3)]
    assert len(texts) == 2
    shown = capsys.readouterr().out
    assert all(text in shown for text in texts)
