"""`probe`: words that judges of known faults get, resume, workers, settings, the command."""

import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder
from folders import error_of
from langchain_core.embeddings import DeterministicFakeEmbedding
from probed_rows import normalised
from pydantic import BaseModel

from rag_evaluator import (
    ConfigError,
    CustomMetric,
    DatasetError,
    ResultsError,
    ScriptedJudge,
    metric,
    probe,
)
from rag_evaluator.cli.main import main
from rag_evaluator.results import Score
from rag_evaluator.scorer import Scorer

SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu")
METRIC_NAMES = ("faithfulness", "context_recall", "answer_accuracy")
ROWS = 26
ROOT = Path(__file__).parents[3]

Supports = Callable[[str, str, int], bool]  # context, statement, position of the statement
Rating = Callable[[str, str], int]  # answer, reference


def name_of(number: int) -> str:
    return (SYLLABLES[number % 10] + SYLLABLES[number // 10 % 10] + "rk").capitalize()


def rows_of(count: int) -> list[Json]:
    """Rows of which each has a fact of its own, with a name and a year, and a context without it."""
    rows = []
    for number in range(count):
        fact = f"The bridge of {name_of(number)} was {'re' * (number % 7)}built in {1200 + 15 * number}."
        other = f"Few people know that {name_of(number + count)} lies by a river."
        contexts = [fact, other] if number % 2 else [other, fact]
        columns = {"response": f"{name_of(number)}?", "reference": fact, "reference_contexts": [fact]}
        rows.append({"user_input": f"Question {number}?", "retrieved_contexts": contexts, **columns})
    return rows


def judge_of(supports: Supports, rating: Rating) -> ScriptedJudge:
    """A judge of statements and answers."""

    def script(prompt: str, response_model: type[BaseModel]) -> Json:
        asked = prompt.data.model_dump()  # type: ignore[attr-defined]
        if response_model.__name__ == "StatementGeneratorOutput":
            return {"statements": [f"{text.strip(' .')}." for text in asked["answer"].split(". ") if text.strip()]}
        if response_model.__name__ == "AnswerAccuracyOutput":
            return {"rating": rating(asked["user_answer"], asked["reference_answer"])}
        if response_model.__name__ == "ContextRecallOutput":
            attributed = int(supports(asked["context"], asked["answer"], 0))
            return {"classifications": [{"statement": asked["answer"], "reason": "so", "attributed": attributed}]}
        pairs = enumerate(asked["statements"])
        verdicts = [(text, int(supports(asked["context"], text, place))) for place, text in pairs]
        return {"statements": [{"statement": text, "reason": "so", "verdict": verdict} for text, verdict in verdicts]}

    return ScriptedJudge(script, model_id="script")


def chance(*texts: object) -> random.Random:
    return random.Random("\0".join(map(str, texts)))


JUDGES: Mapping[str, tuple[Supports, Rating]] = {
    "perfect": (
        lambda context, statement, _: normalised(statement) in normalised(context),
        lambda answer, reference: 4 if set(normalised(answer).split()) == set(normalised(reference).split()) else 0,
    ),
    "random": (
        lambda context, statement, place: chance(context, statement, place).random() < 0.5,
        lambda answer, reference: chance(answer, reference).choice((0, 2, 4)),
    ),
    "no": (lambda context, statement, place: False, lambda answer, reference: 0),
    "fussy": (lambda context, statement, _: statement in context, lambda answer, reference: 2 * (answer == reference)),
    "position": (lambda context, statement, place: place == 0, lambda answer, reference: 2),
    "length": (
        lambda context, statement, place: len(statement.split()) > 4,
        lambda answer, reference: 4 if len(answer) > 60 else 2,
    ),
}
PROBED = {
    "faithfulness": ("other_answer", "changed_number", "changed_name", "contradiction", "other_contexts"),
    "context_recall": ("other_contexts", "dropped_context"),
    "answer_accuracy": ("other_answer", "changed_number", "changed_name"),
}
WORDS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "perfect": {metric: dict.fromkeys(probes, "reliable") for metric, probes in PROBED.items()},
    "no": {metric: dict.fromkeys(probes, "always worst") for metric, probes in PROBED.items()},
    "position": {  # one more statement is noticed by whoever believes the first one only
        "faithfulness": {**dict.fromkeys(PROBED["faithfulness"], "no better than chance"), "contradiction": "reliable"}
    },
    "length": {"answer_accuracy": dict.fromkeys(PROBED["answer_accuracy"], "no better than chance")},
}


def probed(judge: str, folder: Path, metrics: Iterable[str] = METRIC_NAMES, rows: int = ROWS) -> Json:
    config = {"metrics": list(metrics), "probe": {"sample": rows}, "chunk_size": 512}
    return probe(config, rows_of(rows), folder, judge_of(*JUDGES[judge]))


def words_of(found: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    cells = found["metrics"]
    return {metric: {name: cell["word"] for name, cell in cells[metric].items() if cell["word"]} for metric in cells}


@pytest.mark.parametrize("judge", WORDS)
def test_judges_of_known_faults_get_their_words(judge: str, tmp_path: Path) -> None:
    found = probed(judge, tmp_path, WORDS[judge])
    assert words_of(found) == WORDS[judge]
    alarms = {metric: cells["same_text"]["share"]["mean"] for metric, cells in found["metrics"].items()}
    assert alarms == dict.fromkeys(WORDS[judge], 0.0)
    if "answer_accuracy" in alarms:
        assert found["metrics"]["answer_accuracy"]["longer"]["share"]["mean"] == (judge == "length")


def test_a_judge_whose_scores_fall_with_other_spaces_too_notices_nothing(tmp_path: Path) -> None:
    found = probed("fussy", tmp_path, ["answer_accuracy"])
    assert words_of(found) == {"answer_accuracy": dict.fromkeys(PROBED["answer_accuracy"], "not above the control")}
    cells = found["metrics"]["answer_accuracy"]
    assert cells["same_text"]["falls"] == 26 and cells["changed_name"]["above_control"]["mean"] == 0


def test_a_random_judge_is_nowhere_reliable_and_its_false_alarms_are_seen(tmp_path: Path) -> None:
    found = probed("random", tmp_path, ["faithfulness"])
    words = {word for cells in words_of(found).values() for word in cells.values()}
    assert words <= {"too few", "no better than chance", "undecided"}
    assert found["metrics"]["faithfulness"]["same_text"]["share"]["mean"] > 0.25


def test_relevancy_of_0_is_floor_a_small_change_is_a_tie_and_no_score_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(5)
    falls = (0.0, 0.04, 0.06, 0.01)

    async def score(self: Scorer, sample: Any, metric: str, repeat: int = 0) -> Score:
        if sample.index == 4:
            return Score(math.nan, "too long")
        is_good = sample.columns["response"] == rows[sample.index]["reference"]
        return Score((0.0 if sample.index == 0 else 0.8) - (0.0 if is_good else falls[sample.index]))

    monkeypatch.setattr(Scorer, "score", score)
    metrics = ["answer_relevancy", "answer_correctness"]
    found = probe({"metrics": metrics}, rows, tmp_path, ScriptedJudge(), DeterministicFakeEmbedding(size=4))
    relevancy, correctness = (found["metrics"][metric]["other_answer"] for metric in metrics)
    counts = ("pairs", "missing", "floor", "falls", "ties")
    assert [relevancy[name] for name in counts] == [5, 1, 1, 1, 2]
    assert [correctness[name] for name in counts] == [5, 1, 0, 2, 2]
    assert relevancy["share"]["n"] == 3


def test_every_changed_row_is_kept_for_reading_with_both_scores(tmp_path: Path) -> None:
    probed("perfect", tmp_path, rows=6)
    lines = (tmp_path / "probe" / "rows.jsonl").read_text("utf-8").splitlines()
    [line] = [row for row in map(json.loads, lines) if (row["row"], row["probe"]) == (2, "changed_number")]
    fact = rows_of(6)[2]["reference"]
    assert line["good"] == {"response": fact}
    assert line["changed"]["response"] != fact
    assert line["scores"]["faithfulness"] == {"good": 1.0, "changed": 0.0, "reasons": []}


def test_own_metrics_have_the_control_if_they_ask_the_judge_and_nothing_else(tmp_path: Path) -> None:
    polite = CustomMetric("polite", "Is it polite?", ["response"], {0: "rude", 1: "polite"})
    short = metric(lambda response: len(response) < 200, columns=["response"], name="short")
    judge = ScriptedJudge({"CustomOutput": {"reason": "so", "label": "1"}})
    found = probe({"metrics": [polite, short, "bleu"]}, rows_of(3), tmp_path, judge)
    assert {name: list(cells) for name, cells in found["metrics"].items()} == {"polite": ["same_text"]}
    assert "short" in found["notes"][0] and "bleu_score" in found["notes"][0]


@pytest.mark.parametrize(
    ("config", "rows", "error", "message"),
    [
        ({"metrics": ["bleu"]}, rows_of(2), ConfigError, "no probe concerns any of the metrics bleu_score. Add one of"),
        ({"metrics": ["context_recall"], "probe": {"sample": 0}}, rows_of(2), ConfigError, "sample"),
        ({"metrics": ["faithfulness"]}, [{"user_input": "Where?"}], DatasetError, "response"),
        (
            {"metrics": ["answer_accuracy"]},
            [{"user_input": "Where?", "response": " ", "reference": ""}, {"response": "x"}, {"reference": "y"}],
            ConfigError,
            "no probe can be made of any of 3 rows",
        ),
    ],
)
def test_bad_input_is_reported_before_a_model_is_loaded(
    config: Json, rows: list[Json], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        probe(config, rows, tmp_path, ScriptedJudge(model_id="none"))


def test_another_sample_is_refused_and_updated_with_what_is_new(tmp_path: Path, capsys: Capture) -> None:
    probed("perfect", tmp_path, ["context_recall"], rows=6)
    config = {"metrics": ["context_recall"], "probe": {"sample": 3}, "chunk_size": 512}
    with pytest.raises((ConfigError, ResultsError), match="sample: 6 before, 3 now"):
        probe(config, rows_of(6), tmp_path, judge_of(*JUDGES["perfect"]))
    asked = judge_of(*JUDGES["perfect"])
    assert probe(config, rows_of(6), tmp_path, asked, start="update")["rows"] == 3
    assert asked.asked == 0
    assert "its rows were given from Python" in error_of(capsys, "merge", tmp_path)


def write_config(folder: Path, model: Path, count: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row) + "\n" for row in rows_of(count))
    (folder / "rows.jsonl").write_text("".join(lines), "utf-8")
    (folder / "config.yaml").write_text(
        "dataset: rows.jsonl\nmetrics: [context_recall, response_groundedness]\nchunk_size: 4\n"
        f"judge: {{model: {model}, dtype: float32, max_new_tokens: 24, batch_size: 4}}\n",
        "utf-8",
    )
    return folder / "config.yaml"


def test_the_command_prints_sentences_the_next_command_and_a_table(
    tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    config = write_config(tmp_path, model_folder("llama-bytelevel"), 4)
    assert main(["probe", str(config), "--sample", "2", "--set", "metrics=[context_recall, bleu]"]) in (0, 1)
    shown = capsys.readouterr().out
    assert shown.startswith(("Not shown that the judge notices any of ", "Nothing is known: "))
    following = f"Next: rag-evaluator probe {config} --set 'metrics=[context_recall, bleu]' --sample "
    assert shown.partition(following)[2].split()[0] == "4"  # all that there are
    assert "run: what is noticed, 2 rows" in shown
    assert "not probed: bleu_score" in shown


def test_rows_that_have_changed_since_are_not_merged(
    tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    config = write_config(tmp_path, model_folder("llama-bytelevel"), 3)
    assert main(["probe", str(config), "--set", "metrics=[context_recall]"]) in (0, 1)
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows_of(1)[0]), "utf-8")
    assert "not the rows that were probed" in error_of(capsys, "merge", tmp_path / "results" / "run")


def test_the_docs_list_the_probes_and_the_words(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "probe.md").read_text("utf-8")
    probes, words = (
        re.findall(r"^\| `([^`]+)`", text.split(heading)[1].split("\n\n")[0], re.MULTILINE)
        for heading in ("| probe | change |", "| word | meaning |")
    )
    made = list(probed("perfect", tmp_path)["probes"])
    assert [name for name in probes if name in made] == made
    assert {word for cells in WORDS.values() for of in cells.values() for word in of.values()} <= set(words)
