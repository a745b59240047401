"""Retrieval by judged chunks: values by hand and by ir_measures; which questions are asked."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from aliases import Json
from folders import run_command
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from rag_evaluator import METRICS, DatasetError, PromptTooLongError, RAGEvaluator, ScriptedJudge, read_questions
from rag_evaluator.config import RetrievalConfig
from rag_evaluator.judge import Scheduler
from rag_evaluator.metrics import measured

ROOT = Path(__file__).parents[2]
ALL = ["retrieval_precision", "retrieval_mrr", "retrieval_map", "retrieval_ndcg", "retrieval_recall"]
Values = tuple[float, ...]  # in the order of the names of ALL


class Judge(ScriptedJudge):
    """A context is relevant if it begins with `good`; it matches the reference context whose number it ends in."""

    def __init__(self) -> None:
        super().__init__(self._say, model_id="retrieval")

    @staticmethod
    def _say(prompt: str, response_model: type[BaseModel]) -> Json:
        data, _ = json.JSONDecoder().raw_decode(prompt, prompt.rfind("input: ") + len("input: "))
        if "context" in data:
            return {"reason": "r", "verdict": int(data["context"].startswith("good"))}
        number = data["reference_context"].split()[-1]
        return {"reason": "r", "verdict": int(any(text.split()[-1] == number for text in data["contexts"]))}


def row_of(contexts: list[str], expected: int | None = None, **columns: Any) -> Json:
    row: Json = {"user_input": "q", "retrieved_contexts": contexts, "reference": "a", **columns}
    return row if expected is None else {**row, "reference_contexts": [f"expected {n}" for n in range(1, expected + 1)]}


async def score(name: str, row: Json, options: Json) -> Any:
    spec = METRICS[name].with_options(RetrievalConfig(**options))
    columns = {column: row[column] for column in spec.reads if column in row}
    metric: Any = spec.create(Judge() if spec.judge else None, None)
    return await metric.ascore(**columns)


def scored(row: Json, **options: Any) -> Values:
    """The value of each metric that the row has the columns for."""
    names = ALL if "reference_contexts" in row else ALL[:-1]
    return tuple(asyncio.run(score(name, row, options)).value for name in names)


G = "good 9"
B = "bad 9"
SECOND = 1 / math.log2(3)  # what a relevant context gains at these ranks
THIRD = 1 / math.log2(4)  # the first: 1
CASES: dict[str, tuple[Json, Json, Values]] = {
    "relevant ones in the middle": (
        row_of([B, G, G, B]),
        {},
        (2 / 4, 1 / 2, (1 / 2 + 2 / 3) / 2, (SECOND + THIRD) / (1 + SECOND)),
    ),
    "nothing was retrieved": (row_of([], expected=2), {}, (0.0,) * 5),
    "contexts in the order of their scores": (
        row_of([B, "good 1", G], expected=1, document_score=[0.1, 0.2, 0.9]),
        {},
        (2 / 3, 1.0, 1.0, 1.0, 1.0),
    ),
    "equal scores keep the order of the list": (
        row_of([B, G], document_score=[0.5, 0.5]),
        {},
        (1 / 2, 1 / 2, 1 / 2, SECOND),
    ),
    "more scores than contexts, as the last did not fit": (
        row_of([B, G], document_score=[0.1, 0.2, 0.3]),
        {},
        (1 / 2, 1.0, 1.0, 1.0),
    ),
    "blank contexts are not relevant, blank or doubled reference contexts do not count": (
        row_of(["", "good 1"], reference_contexts=["expected 1", " ", "expected 1"]),
        {},
        (1 / 2, 1 / 2, 1 / 2, SECOND, 1.0),
    ),
    "equal texts": (
        row_of(["No.", "“Tesk” lies\non the  OM"], reference_contexts=['"tesk" lies on the Om.', "Another"]),
        {"match": "exact"},
        (1 / 2, 1 / 2, 1 / 4, SECOND / (1 + SECOND), 1 / 2),
    ),
    "common n-grams": (
        row_of(["The river Om flows", "Nothing here is alike"], reference_contexts=["Tesk. The river Om flows south."]),
        {"match": "overlap"},
        (1 / 2, 1.0, 1.0, 1.0, 1.0),
    ),
    "ids in place of texts": (
        row_of(
            ["x", "y", "z"],
            reference_contexts=["x"],
            retrieved_context_ids=["7", "8", "9"],
            reference_context_ids=["8", "5", "8"],
            document_score=[1, 2, 3],
        ),
        {"match": "exact", "k": 2},
        (1 / 2, 1 / 2, 1 / 4, SECOND / (1 + SECOND), 1 / 2),
    ),
    "an id that was retrieved several times": (
        {"retrieved_context_ids": ["7", "7", "9", "7", "8"], "reference_context_ids": ["7", "8"]},
        {"match": "exact", "k": 3},
        (2 / 3, 1.0, (1 + 2 / 3) / 2, (1 + 1 / 2) / (1 + SECOND)),
    ),
    "ids say nothing where the judge or n-grams decide": (
        row_of(["x"], reference_contexts=["y"], retrieved_context_ids=["7"], reference_context_ids=["7"]),
        {"match": "overlap"},
        (0.0,) * 5,
    ),
}


@pytest.mark.parametrize(("row", "options", "expected"), CASES.values(), ids=CASES)
def test_values_are_those_worked_out_by_hand(row: Json, options: Json, expected: Values) -> None:
    assert scored(row, **options) == pytest.approx(expected)


grades = st.lists(st.sampled_from([0, 1, 2, 3, 7]), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), relevance=grades, k=st.integers(1, 45))
def test_measures_have_the_bytes_of_ir_measures(data: st.DataObject, relevance: list[int], k: int) -> None:
    order = data.draw(st.permutations(range(len(relevance))))[: data.draw(st.integers(1, len(relevance)))]
    names = [f"nDCG@{k}", f"P@{k}", f"AP@{k}", "RR"]
    qrels = [ir_measures.Qrel("q", str(item), grade) for item, grade in enumerate(relevance)]
    run = [ir_measures.ScoredDoc("q", str(item), float(-rank)) for rank, item in enumerate(order)]
    expected = ir_measures.calc_aggregate(map(ir_measures.parse_measure, names), qrels, run)
    assert measured(order, relevance, names) == {str(measure): value for measure, value in expected.items()}


def evaluate(rows: Any, metrics: list[str] = ALL, **retrieval: Any) -> Any:
    judge = Judge()
    results = RAGEvaluator({"metrics": metrics, "retrieval": retrieval}, judge=judge).evaluate(rows)
    return results, judge


ASKED: dict[str, tuple[list[str], int | None, set[str]]] = {  # metrics, expected contexts -> prompts asked
    "precision": (["retrieval_precision"], 2, {"chunk_prompt"}),
    "mrr": (["retrieval_mrr"], 2, {"chunk_prompt"}),
    "ndcg": (["retrieval_ndcg"], 2, {"chunk_prompt", "match_prompt"}),
    "map without expected contexts": (["retrieval_map"], None, {"chunk_prompt"}),
    "recall": (["retrieval_recall"], 2, {"match_prompt"}),
}


@pytest.mark.parametrize(("metrics", "expected", "prompts"), ASKED.values(), ids=ASKED)
def test_each_metric_asks_only_what_it_needs(metrics: list[str], expected: int | None, prompts: set[str]) -> None:
    results, judge = evaluate([row_of([G, B, "good 1"], expected)], metrics, k=2)
    judgements = [one for line in results.details() for one in line["judgements"]]
    assert {one["prompt"] for one in judgements} == prompts
    assert len(judge.prompts) == 2 * len(prompts)  # two contexts within k, two expected contexts


def test_the_same_questions_are_asked_for_all_five_metrics() -> None:
    _, judge = evaluate([row_of([G, "", B, "good 1"], 2, document_score=[4, 3, 1, 2])])
    assert len(judge.prompts) == 4 * 3 + 3 * 2
    assert len(set(judge.prompts)) == 3 + 2


def test_a_recall_question_shows_the_contexts_within_k_best_first() -> None:
    results, _ = evaluate([row_of([G, B, "", "good 1"], 1, document_score=[1, 2, 3, 4])], ["retrieval_recall"], k=3)
    [line] = results.details()
    assert line["judgements"][0]["input"] == {
        "reference_context": {"column": "reference_contexts", "item": 0},
        "contexts": {"each": [{"column": "retrieved_contexts", "item": place} for place in (3, 1)]},
    }


def test_nothing_retrieved_is_zero_and_no_column_is_missing() -> None:
    rows = [row_of([G], 1), row_of([], 1), {"user_input": "q", "reference": "a", "reference_contexts": ["expected 1"]}]
    results, _ = evaluate(rows, [*ALL, "context_precision_with_reference", "context_recall"])
    for name, scores in results.scores.items():
        reasons = [score.reason for score in scores[1:]]
        empty = None if name in ALL else "no retrieved_contexts in this row"
        assert reasons == [empty, "no retrieved_contexts in this row"], name
        assert scores[1].value == 0.0 or name not in ALL


def test_a_retriever_that_never_finds_anything_is_zero_in_every_row(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(f"{json.dumps(row_of([], 1))}\n" * 2, "utf-8")
    scores = evaluate(data)[0].scores
    assert {name: [score.value for score in scores[name]] for name in ALL} == {name: [0.0, 0.0] for name in ALL}
    with pytest.raises(DatasetError, match="'retrieved_contexts', which context_recall needs"):
        evaluate(data, [*ALL, "context_recall"])
    ids = [{"retrieved_context_ids": [], "reference_context_ids": ["7"]}]
    exact = evaluate(ids, ["retrieval_recall"], match="exact")[0].scores["retrieval_recall"]
    assert exact[0].value == 0.0


def test_the_summary_counts_whether_the_relevant_documents_are_all_known() -> None:
    rows = [row_of([G], 1), row_of([G]), row_of([G], 2), row_of([], 1)]
    summary = evaluate(rows)[0].summary()
    for name in ("retrieval_ndcg", "retrieval_map"):
        assert summary[name]["outcomes"] == {"total_relevant: known": 3, "total_relevant: unknown": 1}
    assert "outcomes" not in summary["retrieval_precision"]
    assert summary["retrieval_recall"]["reasons"] == {"no reference_contexts in this row": 1}


def test_contexts_that_do_not_fit_are_left_out_with_their_scores() -> None:
    class Narrow(Judge):
        def generate(self, prompt: str, response_model: type[BaseModel]) -> Any:
            if "far" in prompt.rsplit("input: ", 1)[-1]:
                raise PromptTooLongError("too long")
            return super().generate(prompt, response_model)

    row = row_of([B, "good 1", "far 1"], 1, document_score=[1, 2, 3])
    results = RAGEvaluator({"metrics": ALL}, judge=Narrow()).evaluate([row])
    assert [results.scores[name][0].value for name in ALL] == [0.5, 1.0, 1.0, 1.0, 1.0]
    assert results.rows()[0]["dropped_contexts"] == {name: [2] for name in ALL}


@pytest.mark.parametrize("match", ["exact", "overlap"])
def test_without_a_judge_none_is_loaded_and_no_prompt_is_needed(match: str, tmp_path: Path) -> None:
    config = {
        "metrics": ALL,
        "retrieval": {"match": match},
        "judge": {"model": str(tmp_path / "none")},
        "language": "klingon",
    }
    rows = [{"retrieved_contexts": ["Tesk lies on the Om."], "reference_contexts": ["Tesk lies on the Om"]}]
    results = RAGEvaluator(config).evaluate(rows)
    assert {scores[0].value for scores in results.scores.values()} == {1.0}
    assert not any(f"match:{match}" in line for line in results.signatures.values())
    assert all(f'"match": "{match}"' in line for line in results.signatures.values())


def test_rows_with_ids_need_no_texts_where_ids_are_compared() -> None:
    rows = [
        {"retrieved_context_ids": ["7"], "reference_context_ids": ["7", "8"], "document_score": [0.5]},
        {"retrieved_contexts": ["a"], "reference_contexts": ["b"]},
        {"retrieved_context_ids": [], "reference_context_ids": ["7"]},
        {"retrieved_context_ids": ["7"]},
    ]
    results = RAGEvaluator({"metrics": ["retrieval_recall"], "retrieval": {"match": "exact"}}).evaluate(rows)
    scores = results.scores["retrieval_recall"]
    assert [score.value for score in scores[:3]] == [0.5, 0.0, 0.0]
    assert scores[3].reason == "no retrieved_contexts and no reference_contexts in this row"
    with pytest.raises(DatasetError, match="expected the column 'reference_contexts'"):
        RAGEvaluator({"metrics": ["retrieval_recall"], "retrieval": {"match": "overlap"}}).evaluate(
            [rows[0] | {"contexts": ["a"]}]
        )


def test_a_log_is_judged_with_the_demo_judge_and_no_question_is_answered_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    generated: list[Any] = []
    submit = Scheduler.submit

    async def counted(self: Scheduler, handler: Any, request: Any, group: Any = None) -> Any:
        generated.append(request)
        return await submit(self, handler, request, group)

    monkeypatch.setattr(Scheduler, "submit", counted)
    run_command(ROOT / "examples" / "retrieval" / "config.yaml", "--set", f"output_dir={tmp_path}")
    summary = json.loads((tmp_path / "retrieval" / "summary.json").read_bytes())
    assert {name: row["scored"] for name, row in summary.items() if name in ALL} == dict.fromkeys(ALL, 4)
    lines = (tmp_path / "retrieval" / "details.jsonl").read_text("utf-8").splitlines()
    asked = [one["prompt_digest"] for line in lines for one in json.loads(line)["judgements"]]
    assert len([request for request in generated if hasattr(request, "grammar")]) == len(set(asked)) < len(asked) / 2
    texts = {question["metric"] for question in read_questions(tmp_path / "retrieval")}
    assert texts == set(summary)


def is_found(retrieved: str, expected: str, **options: Any) -> bool:
    """Whether the one retrieved context matches the one that is expected."""
    row = row_of([retrieved], reference_contexts=[expected])
    return bool(asyncio.run(score("retrieval_recall", row, options)).value)


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("abcdefgh", "abcdefgh", 1.0),
        ("abcdefgh", "Cdef, gh", 0.0),
        ("abcdefgh", "cdefgh", 1.0),  # a piece of it: both of its n-grams
        ("abcdefg", "abcdexx", 1 / 3),
        ("abcd", "ABCD.", 1.0),  # shorter than an n-gram: equal or not
        ("abcd", "abcde", 0.0),
    ],
)
def test_overlap_is_the_share_of_the_shorter_text(first: str, second: str, share: float) -> None:
    for least in (0.33, 0.34, 1.0):
        assert is_found(first, second, match="overlap", overlap=least) == (share >= least)
        assert is_found(second, first, match="overlap", overlap=least) == (share >= least)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Straße", "STRASSE"),
        ("ﬁne １２", "fine 12"),
        ("a\u00adb\u200b", "ab"),
        ("«Sí», dijo.", "sí dijo"),
        ("他走了。", "他走了"),
    ],
)
def test_texts_that_differ_in_form_only_are_equal(first: str, second: str) -> None:
    assert is_found(first, second, match="exact")


@pytest.mark.parametrize(("first", "second"), [("3.5", "35"), ("a+b", "a-b"), ("!!", "??"), ("résumé", "resume")])
def test_texts_that_differ_in_more_are_not_equal(first: str, second: str) -> None:
    assert not is_found(first, second, match="exact")
