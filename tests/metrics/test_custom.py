"""Users' own metrics that ask the judge: what is asked, what the score is, and that all else holds for them, too."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel
from ragas.metrics.result import MetricResult

from rag_evaluator import (
    METRICS,
    CustomMetric,
    EvaluatorChain,
    PromptError,
    PromptTooLongError,
    RAGEvaluator,
    ScriptedJudge,
    compare,
    gate,
    load_config,
    read_questions,
)
from rag_evaluator import evaluate as evaluate_lists
from rag_evaluator.cli.main import main
from rag_evaluator.config import make_config
from rag_evaluator.judge import tighten
from rag_evaluator.metrics import Metric, chosen_metrics, read_scale
from rag_evaluator.prompts import (
    CustomInput,
    CustomOutput,
    FilterInput,
    FilterOutput,
    OwnPrompt,
    Pack,
    read_pack,
    write_pack,
)
from rag_evaluator.run import Journal
from rag_evaluator.tasks import of_journal

Rows = list[dict[str, Any]]
SCALE = {0: "rude", 1: "neutral", 2: "polite"}
TONE: dict[str, Any] = {"question": "Is it polite?", "columns": ["user_input", "response"], "scale": SCALE}
EXAMPLE = {"user_input": "Hi?", "response": "Go away.", "reason": "It is rude.", "label": "rude"}
YAML = """
metrics: [tone]
language: {language}
prompts_dir: {folder}/packs
custom_metrics:
  tone:
    question: "Is the response polite and free of slang?"
    columns: [user_input, response]
    scale: {{0: rude, 1: neutral, 2: polite}}
    examples: [{{user_input: 'Where is it?', response: Go away., reason: The response is rude., label: 0}}]
    language: english
"""


class Labels(ScriptedJudge):
    """Gives the length of the response modulo 3, or what it is given."""

    def __init__(self, label: int | None = None, model_id: str | None = "labels") -> None:
        super().__init__(self._say, model_id=model_id)
        self.label = label

    def _say(self, prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
        values = asked(prompt)["values"]
        label = len(values.get("response", "")) % 3 if self.label is None else self.label
        return {"reason": f"because of {values}", "label": label}


def asked(prompt: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(prompt.rpartition("\ninput: ")[2].removesuffix("\nOutput: "))
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


def test_one_column_may_be_written_without_a_list(rows: Rows) -> None:
    judge = Labels()
    evaluator(judge, columns="answer").evaluate(rows[:1])
    assert list(asked(judge.prompts[0])["values"]) == ["response"]


def test_columns_of_the_user_are_shown_as_they_are_and_a_row_without_one_has_no_score(rows: Rows) -> None:
    judge, tags = Labels(), [["a", "b"], 3, None]
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
        ("pass/fail", {0: "fail", 1: "pass"}),
        ("yes/no", {0: "no", 1: "yes"}),
        ("1..4", {1: "lowest", 2: "", 3: "", 4: "highest"}),
        ("-1 .. 1", {-1: "lowest", 0: "", 1: "highest"}),
        ({"min": 0, "max": 2}, {0: "min", 1: "", 2: "max"}),
        ({"min": 0, "max": 2, "lowest": "rude", "highest": "polite"}, {0: "rude", 1: "", 2: "polite"}),
    ],
    ids=str,
)
def test_a_scale_may_be_written_in_several_forms(written: Any, labels: dict[int, str]) -> None:
    expected = {label: {"lowest": "min", "highest": "max"}.get(text, text) for label, text in labels.items()}
    assert read_scale(written) == expected
    assert list(read_scale(written)) == sorted(labels)
    metric = chosen_metrics(make_config({"metrics": "tone", "custom_metrics": {"tone": {**TONE, "scale": written}}}))
    assert metric["tone"].range == (min(labels), max(labels))


def test_the_answer_is_bound_to_the_labels_of_the_scale() -> None:
    data = CustomInput(question="q", scale={"-1": "a", "10": "b", "2": "c"}, values={})
    assert tighten(CustomOutput, data)["properties"]["label"] == {"enum": [-1, 10, 2]}


@pytest.mark.parametrize(("scale", "labels"), [("0..10", range(11)), ({-1: "bad", 1: "good"}, (-1, 1))])
def test_a_model_that_says_anything_gives_a_label_of_the_scale_with_its_probability(
    model_folder: Callable[..., Path], rows: Rows, scale: Any, labels: Any
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


def test_contexts_that_do_not_fit_the_window_are_left_out_from_the_last(rows: Rows) -> None:
    class Narrow(Labels):
        def _say(self, prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
            if "river Om" in prompt:
                raise PromptTooLongError("too long")
            return super()._say(prompt, response_model)

    [score] = evaluator(Narrow(), columns=["response", "retrieved_contexts"]).evaluate(rows[:1]).scores["tone"]
    assert (score.contexts, score.value) == ((0,), 0.0)


def test_the_user_s_examples_take_the_place_of_the_prompt_s(rows: Rows) -> None:
    usual, own = Labels(), Labels()
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
        ({"language": "english"}, True),
    ],
    ids=str,
)
def test_the_signature_changes_with_what_the_judge_is_shown(changed: dict[str, Any], same: bool) -> None:
    assert (evaluator(**changed).signatures() == evaluator().signatures()) is same


def test_scores_are_made_anew_where_a_column_that_the_metric_reads_has_changed(rows: Rows, tmp_path: Path) -> None:
    first = [{**row, "channel": "mail", "note": 1} for row in rows]
    evaluator(columns=["response", "channel"]).evaluate(first, folder=tmp_path)
    second = [{**first[0], "note": 2}, {**first[1], "channel": "phone"}, first[2]]
    judge = Labels()
    evaluator(judge, columns=["response", "channel"]).evaluate(second, folder=tmp_path, start="update")
    assert [asked(prompt)["values"]["channel"] for prompt in judge.prompts] == ["phone"]


def test_results_have_range_direction_stage_intervals_and_rates_as_those_of_other_metrics(rows: Rows) -> None:
    config = {
        "metrics": ["exact_match", "tone"],
        "custom_metrics": {"tone": {**TONE, "better": "lower", "stage": "retrieval"}},
        "thresholds": {"tone": 1},
        "require": ["tone <= 2"],
    }
    results = RAGEvaluator(config, Labels()).evaluate(rows)
    summary = results.summary()["tone"]
    assert (summary["stage"], summary["better"], summary["pass_rate"]["threshold"]) == ("retrieval", "lower", 1)
    assert 0 <= summary["ci_low"] <= summary["mean"] <= summary["ci_high"] <= 2
    assert results.manifest["metrics"]["tone"]["range"] == [0.0, 2.0]


def test_runs_are_compared_and_gated_on_the_scale_that_their_manifest_has(rows: Rows, tmp_path: Path) -> None:
    for name, label in (("a", 0), ("b", 2)):
        evaluator(Labels(label)).evaluate(rows * 5, folder=tmp_path / name)
    [line] = compare(tmp_path / "a", tmp_path / "b").metrics
    assert (line.figures.difference.mean, line.figures.scale.high) == (2, 2)
    [verdict] = gate(tmp_path / "b", "mean:tone >= 1.9")
    assert verdict.passed


def test_another_process_writes_the_results_from_the_journal(rows: Rows, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    config = {"metrics": "tone", "custom_metrics": {"tone": TONE}, "dataset": str(tmp_path / "rows.jsonl")}
    RAGEvaluator(config, Labels()).evaluate(folder=tmp_path / "run")
    before = (tmp_path / "run" / "scores.jsonl").read_bytes()
    (tmp_path / "run" / "scores.jsonl").unlink()
    stage = of_journal(Journal(tmp_path / "run"))
    assert stage.metrics["tone"] == chosen_metrics(make_config(config))["tone"]
    assert main(["merge", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == before


def test_the_questions_can_be_read_again(rows: Rows, tmp_path: Path) -> None:
    judge = Labels()
    scored = [{**row, "channel": "mail"} for row in rows]
    config = {
        "metrics": "tone",
        "custom_metrics": {"tone": {**TONE, "columns": ["response", "contexts", "channel"]}},
    }
    RAGEvaluator(config, judge).evaluate(scored, folder=tmp_path)
    assert [question["text"] for question in read_questions(tmp_path, data=scored)] == judge.prompts
    details = (tmp_path / "details.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(details[0])["judgements"][0]["input"]["values"] == {
        "object": {
            "response": {"column": "response"},
            "retrieved_contexts": {"column": "retrieved_contexts", "items": 2, "numbered": True},
            "channel": "mail",
        }
    }


def test_a_metric_is_given_to_the_functions_for_lists_and_to_chains_as_an_object(rows: Rows, tmp_path: Path) -> None:
    tone = CustomMetric("tone", "Is it polite?", ["user_input", "response"], SCALE, examples=[EXAMPLE])
    questions, contexts, answers = (
        [row[key] for row in rows] for key in ("user_input", "retrieved_contexts", "response")
    )
    means = evaluate_lists(questions, contexts, answers, metrics=[tone], judge=Labels(), output_dir=tmp_path)
    assert means == {"tone": pytest.approx(sum(len(answer) % 3 for answer in answers) / 3)}
    [scored] = EvaluatorChain(tone, judge=Labels()).batch([rows[0]])
    assert scored["tone_score"] == len(answers[0]) % 3
    listed = EvaluatorChain("tone", judge=Labels(), config={"metrics": ["tone"], "custom_metrics": {"tone": TONE}})
    assert listed.invoke(rows[0])["tone_score"] == len(answers[0]) % 3


class Spanish(Labels):
    """Translates by adding a Spanish word to each, or labels."""

    WORDS = ("la", "respuesta", "es", "de", "una", "manera", "que", "no", "está")

    def _say(self, prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
        if response_model.__name__ != "TranslationOutput":
            return super()._say(prompt, response_model)
        words = len(asked(prompt)["text"].split())
        return {"translation": " ".join((self.WORDS * 9)[:words])}


def spanish(folder: Path, **changed: str) -> Path:
    """A configuration in Spanish with a question in English, and the Spanish prompt around all questions."""
    examples = [
        {"input": {"question": "q", "scale": {"0": "a", "1": "b"}, "values": {}}, "output": {"reason": "r", "label": 0}}
    ]
    (folder / "packs").mkdir(exist_ok=True)
    write_pack(folder / "packs" / "custom_prompt_spanish.json", Pack("spanish", "Responde a la pregunta.", examples))
    text = YAML.format(folder=folder, **{"language": "spanish", **changed})
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return folder / "config.yaml"


def test_a_question_in_english_is_not_put_to_a_run_in_spanish_without_its_pack(tmp_path: Path, rows: Rows) -> None:
    with pytest.raises(PromptError) as caught:
        RAGEvaluator(load_config(spanish(tmp_path)), Labels()).check(rows)
    assert "1 of 2 prompt packs are missing" in str(caught.value)
    assert "tone_definition_spanish.json" in str(caught.value)
    assert "'rag-evaluator prompts adapt --config <your file> --language spanish'" in str(caught.value)


def test_a_question_in_the_language_of_the_run_needs_no_pack(
    tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    path, judge = spanish(tmp_path), Labels()
    path.write_text(path.read_text(encoding="utf-8").replace("language: english", "language: es"), encoding="utf-8")
    RAGEvaluator(load_config(path), judge).evaluate(rows[:1])
    assert judge.prompts[0].startswith("Responde a la pregunta.")
    assert asked(judge.prompts[0])["question"] == "Is the response polite and free of slang?"
    assert caplog.text == ""


def test_the_pack_of_a_question_is_made_by_adapt_and_used(
    tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = spanish(tmp_path)
    before = (tmp_path / "packs" / "custom_prompt_spanish.json").read_bytes()
    source = "rag_evaluator.judge.judge.LazyJudge.load"

    async def load(self: Any) -> Any:
        from rag_evaluator.judge import as_judge

        return as_judge(Spanish(), "spanish")

    monkeypatch.setattr(source, load)
    arguments = ["prompts", "adapt", "--config", str(path), "--language", "spanish", "--metrics", "tone"]
    assert main(arguments) == 0
    assert (tmp_path / "packs" / "custom_prompt_spanish.json").read_bytes() == before
    assert "1 packs written" in capsys.readouterr().out
    pack = read_pack(tmp_path / "packs" / "tone_definition_spanish.json")
    assert pack.instruction == "la respuesta es de una manera que no"
    assert pack.examples[0] == {"input": {"scale": {"0": "la", "1": "la", "2": "la"}}, "output": {}}
    assert pack.examples[1]["output"]["label"] == 0
    checked = ["prompts", "check", "--config", str(path), "--language", "spanish", "--metrics", "tone"]
    main(checked)
    assert "tone_definition_spanish.json: " not in capsys.readouterr().out.replace("repeats", "")

    judge = Labels()
    monkeypatch.undo()
    adapted = RAGEvaluator(load_config(path), judge)
    adapted.evaluate(rows[:1])
    assert asked(judge.prompts[0])["question"] == pack.instruction
    assert "respuesta es de una" in judge.prompts[0].split("EXAMPLES")[1].split("Now perform")[0]
    signature = adapted.signatures()
    write_pack(tmp_path / "packs" / "tone_definition_spanish.json", Pack("spanish", "¿Es cortés?", pack.examples))
    assert RAGEvaluator(load_config(path), Labels()).signatures() != signature


def test_packs_that_come_with_the_package_are_not_made_where_only_that_of_a_question_is_missing(
    tmp_path: Path, rows: Rows
) -> None:
    path = spanish(tmp_path)
    config = load_config(path, ["prompts.adapt=true", "metrics=[tone, faithfulness]"])
    RAGEvaluator(config, Spanish()).check(rows)
    written = {file.name for file in (tmp_path / "packs").glob("*.json")}
    assert written == {"custom_prompt_spanish.json", "tone_definition_spanish.json"}


def test_a_pack_that_was_made_for_another_scale_is_reported(tmp_path: Path, rows: Rows) -> None:
    path = spanish(tmp_path)
    examples = [{"input": {"scale": {"0": "grosera", "1": "cortés"}}, "output": {}}]
    write_pack(tmp_path / "packs" / "tone_definition_spanish.json", Pack("spanish", "¿Es cortés?", examples))
    with pytest.raises(
        PromptError, match=r"has not the labels 0, 1, 2\. The scale was changed after the pack was made"
    ):
        RAGEvaluator(load_config(path), Labels()).check(rows)


class Answered:
    """A metric in ten lines: does the response alone answer the question?"""

    def __init__(self, llm: Any) -> None:
        self.llm, self.prompt = llm, OwnPrompt("sort", "filter_prompt")

    async def ascore(self, user_input: str, response: str) -> MetricResult:
        question = self.prompt.to_string(FilterInput(user_input=user_input, context=response))
        return MetricResult(value=(await self.llm.agenerate(question, FilterOutput)).verdict)


def test_adding_a_metric_is_one_row_and_its_packs(monkeypatch: pytest.MonkeyPatch, rows: Rows, tmp_path: Path) -> None:
    row = Metric(f"{__name__}:Answered", ("user_input", "response"), prompts=("prompt",))
    monkeypatch.setitem(cast(dict[str, Metric], METRICS), "answered", row)
    examples = [{"input": {"user_input": "q", "context": "c"}, "output": {"verdict": 0}}]
    write_pack(tmp_path / "answered_prompt_spanish.json", Pack("spanish", "¿Responde?", examples))
    judge = ScriptedJudge([{"verdict": 1}, {"verdict": 0}, {"verdict": 0}])
    config = {"metrics": "answered", "language": "spanish", "prompts_dir": tmp_path}
    scores = RAGEvaluator(config, judge).evaluate(rows).scores["answered"]
    assert [score.value for score in scores] == [1, 0, 0]
    assert all(prompt.startswith("¿Responde?") for prompt in judge.prompts)
