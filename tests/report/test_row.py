"""The page of a row: parsed again, so that what a reader sees is what the run's files hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from bs4 import BeautifulSoup, Tag
from folders import lines_of, write_lines
from pydantic import BaseModel
from report.made_files import made_run

from rag_evaluator import METRICS, RAGEvaluator, ScriptedJudge, read_questions
from rag_evaluator.files import short_digest
from rag_evaluator.metrics import all_prompts
from rag_evaluator.report import frames_of, pair_html, row_html
from rag_evaluator.results import GRADES, SIGNS, Run
from rag_evaluator.results import numbers_of as verdicts_of
from rag_evaluator.statistics import Scale

TONE: Json = {
    "tone": {"question": "Polite?", "columns": ["user_input", "response"], "scale": {0: "rude", 1: "cool", 2: "warm"}}
}
CONFIG: Json = {
    "name": "made",
    "metrics": ["faithfulness", "context_precision", "retrieval_recall", "tone", "exact_match"],
    "custom_metrics": TONE,
}
STATEMENTS = {"He was born in Tesk.": 1, "Tesk is a city.": 0}


def answer(prompt: str, model: type[BaseModel]) -> Json:
    """What the judge says: the first statement is supported, the first context helps."""
    said = {
        "StatementGeneratorOutput": {"statements": list(STATEMENTS)},
        "NLIStatementOutput": {
            "statements": [
                {"statement": text, "reason": f"Why {verdict}.", "verdict": verdict}
                for text, verdict in STATEMENTS.items()
            ]
        },
        "ContextPrecisionOutput": {"reason": "As said.", "verdict": int("was born" in _context(prompt))},
        "MatchOutput": {"reason": "It is there.", "verdict": 1},
        "CustomOutput": {"reason": "Friendly.", "label": 2},
    }
    return said[model.__name__]


def _context(prompt: str) -> str:
    return str(json.loads(prompt.rpartition("\ninput: ")[2].removesuffix("\nOutput: ")).get("context", ""))


ROW = {
    "id": "a7",
    "topic": "people",
    "user_input": "Where was he born?",
    "retrieved_contexts": ["He was born in Tesk.", "The river Om is long."],
    "reference_contexts": ["He was born in Tesk."],
    "response": "He was born in Tesk, a city.",
    "reference": "He was born in Tesk.",
}


def made(folder: Path, rows: list[Json] | None = None, judge: Any = None, **config: Any) -> Run:
    RAGEvaluator({**CONFIG, **config}, judge=judge or ScriptedJudge(answer)).evaluate(rows or [ROW], folder=folder)
    return Run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made(tmp_path_factory.mktemp("made") / "run")


def parsed(fragment: str) -> Tag:
    [element] = BeautifulSoup(fragment, "html.parser").find_all(True, recursive=False)
    return element


def find(element: Tag, selector: str) -> list[Any]:
    """The elements below that a CSS selector means. Any: an attribute is a text, or a list of classes."""
    return list(element.select(selector))


def texts(element: Tag, selector: str) -> list[str]:
    return [" ".join(found.get_text().split()) for found in find(element, selector)]


def section(article: Any, metric: str) -> Any:
    [found] = [part for part in find(article, "section.metric") if texts(part, "h4 > span")[0] == metric]
    return found


def change_details(run: Run, change: Any) -> Run:
    path = run.folder / "details.jsonl"
    lines = lines_of(path)
    for line in lines:
        change(line)
    write_lines(path, lines)
    return Run(run.folder)


def test_a_row_shows_its_texts_scores_and_other_columns(run: Run) -> None:
    article = parsed(row_html(run, 0))
    assert (article.name, article.get("id"), article.get("data-row")) == ("article", "row-0", "0")
    assert find(article, "h2 a")[0].get("href") == "#row=0"
    assert texts(article, ".question") == ["Where was he born?"]
    assert texts(article, ".response .data") == ["He was born in Tesk, a city."]
    assert texts(article, ".response ins") == [", a city"]
    assert texts(article, ".reference .data") == ["He was born in Tesk."]
    chips = dict(zip(texts(article, ".chip-name"), texts(article, ".chip-value"), strict=True))
    assert chips == {
        "context_precision_with_reference": "✓1.00, good",
        "retrieval_recall": "✓1.00, good",
        "faithfulness": "◐0.50, middle",
        "tone": "✓2.00, good",
        "exact_match": "✗0.00, bad",
    }
    columns = dict(zip(texts(article, ".columns dt"), texts(article, ".columns dd"), strict=True))
    assert columns == {"id": "a7", "topic": "people"}
    assert 'style="' not in row_html(run, 0)


def test_statements_have_sign_and_word_reason_and_confidence(tmp_path: Path) -> None:
    run = made(tmp_path / "run", metrics=["faithfulness"])

    def confident(line: Json) -> None:
        line["judgements"][1]["confidence"] = [0.91, None]

    faithfulness = section(parsed(row_html(change_details(run, confident), 0)), "faithfulness")
    assert texts(faithfulness, ".verdict .badge") == ["✓ supported", "✗ not supported"]
    assert [found.get("class") for found in find(faithfulness, ".verdict")] == [["verdict", "good"], ["verdict", "bad"]]
    assert texts(faithfulness, ".statement") == list(STATEMENTS)
    assert texts(faithfulness, ".reason") == ["Why 1.", "Why 0."]
    assert texts(faithfulness, ".confidence") == ["Confidence of the judge: 91%"]


def test_contexts_have_their_verdicts_also_equal_ones_in_their_order(tmp_path: Path) -> None:
    again = {**ROW, "retrieved_contexts": ["The river Om is long.", "He was born in Tesk.", "The river Om is long."]}
    article = parsed(row_html(made(tmp_path / "run", [again]), 0))
    precision = "context_precision_with_reference"
    assert texts(article, ".contexts > li .marks") == [
        *(f"{word} {precision}" for word in ("✗ not useful", "✓ useful", "✗ not useful")),
        "✓ retrieved retrieval_recall",
    ]


@pytest.mark.parametrize(
    ("row", "columns", "question", "contexts", "others"),
    [
        (
            {"user_input": "Q", "contexts": ["a", "b"], "question": "x"},
            {"user_input": "user_input"},
            "Q",
            ["a", "b"],
            ["question"],
        ),
        ({"frage": "Q", "contexts": ["a"], "question": "x"}, {"frage": "user_input"}, "Q", ["a"], ["question"]),
        (
            {"question": "Q", "reference": ["a", "b"], "document_score": [0.1, 0.9]},
            {},
            "Q",
            ["b", "a"],
            ["document_score"],
        ),
    ],
)
def test_columns_are_read_as_the_run_read_them_and_the_rest_is_shown(
    tmp_path: Path,
    row: Json,
    columns: dict[str, str],
    question: str,
    contexts: list[str],
    others: list[str],
) -> None:
    said = ScriptedJudge(lambda prompt, model: {"rating": 2})
    run = made(tmp_path / "run", [row], said, metrics=["context_relevance"], columns=columns)
    article = parsed(row_html(run, 0))
    assert texts(article, ".question .data") == [question]
    assert texts(article, "ol.contexts .data") == contexts
    assert texts(article, ".columns dt") == others


def test_dropped_contexts_are_marked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "details.jsonl").write_bytes((run.folder / "details.jsonl").read_bytes())
    for name in ("summary.json", "prompts.json"):
        (tmp_path / name).write_bytes((run.folder / name).read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({**run.manifest, "written": {"rows": 1}}))
    row = {**run.row(0), "dropped_contexts": {"faithfulness": [1]}}
    (tmp_path / "scores.jsonl").write_text(json.dumps(row) + "\n")
    article = parsed(row_html(Run(tmp_path), 0))
    [dropped] = find(article, "li.dropped")
    assert "dropped: did not fit the window faithfulness" in " ".join(dropped.get_text().split())
    assert dropped.get("id").endswith("context-2")
    assert "dropped_contexts" not in texts(article, ".columns dt")


def test_head_input_and_tail_together_are_the_prompt_that_was_sent(run: Run) -> None:
    article = parsed(row_html(run, 0))
    frames = frames_of(run)
    shown = []
    for prompt in find(article, ".prompt"):
        [head] = find(prompt, "[data-frame]")
        [sent] = find(prompt, "pre.input")
        assert head.get_text() == ""
        shown.append(frames[head.get("data-frame")] + sent.get_text())
    assert shown == [question["text"] for question in read_questions(run.folder, 0)]


def test_a_missing_score_has_its_reason_once_and_links_to_it(tmp_path: Path) -> None:
    script = {"StatementGeneratorOutput": {"statements": ["One."]}}
    article = parsed(row_html(made(tmp_path / "run", judge=ScriptedJudge(script), metrics=["faithfulness"]), 0))
    assert texts(article, ".chip-value") == ["–"]
    reason = "the script has no answer for NLIStatementOutput"
    assert texts(article, ".chip-why") == [f"missing: {reason}"]
    assert texts(section(article, "faithfulness"), ".error .data") == [reason]


def verdicts(metric: str, prompt: str, key: str, value: int, about: str = "") -> list[Any]:
    """What a judge says whose answer is one number, in words."""
    judgement = {"prompt": prompt, "input": {"text": {"column": about}} if about else {}, "response": {key: value}}
    return [verdict.meaning for verdict in verdicts_of({"metric": metric, "judgements": [judgement]})]


@pytest.mark.parametrize(
    ("metric", "prompt", "key", "value", "about", "tone", "word"),
    [
        ("faithfulness", "nli_statement_prompt", "verdict", 1, "", "good", "supported"),
        ("factual_correctness", "nli_prompt", "verdict", 0, "reference", "bad", "not supported"),
        ("noise_sensitivity", "faithfulness_prompt", "verdict", 1, "retrieved_contexts", "plain", "supported"),
        ("context_recall", "prompt", "attributed", 0, "", "bad", "not in the contexts"),
        ("retrieval_map", "chunk_prompt", "verdict", 1, "", "good", "relevant"),
        ("context_relevance", "judge1_prompt", "rating", 1, "", "middle", "partly relevant"),
        ("answer_accuracy", "judge1_prompt", "rating", 2, "", "middle", "agrees in part"),
        ("refusal_correctness", "refused_prompt", "verdict", 1, "", "plain", "refuses"),
    ],
)
def test_verdicts_mean_what_their_prompts_ask(
    metric: str, prompt: str, key: str, value: int, about: str, tone: str, word: str
) -> None:
    assert verdicts(metric, prompt, key, value, about) == [(tone, word)]


def judged_run(folder: Path, metric: str, scale: Scale, **judgement: Any) -> Run:
    """A run of one row with one judgement."""
    asked = {"prompt": "prompt", "prompt_digest": "d", "input": {}, "error": None, **judgement}
    line = {"row": 0, "sample": "0", "metric": metric, "value": 0.5, "judgements": [asked]}
    return Run(made_run(folder / "made", {metric: [0.5]}, {metric: scale}, details=[line]))


@pytest.mark.parametrize(
    ("metric", "response", "values", "scale", "expected"),
    [
        ("rubrics_score_with_reference", {"feedback": "f", "score": 5}, {}, Scale(1, 5), [("good", "score 5")]),
        ("rude", {"value": 0.9}, {}, Scale(better="lower"), [("bad", "value 0.9")]),
        ("answer_rubric", {"1": 0.25, "2": 0.75}, {}, Scale(), [("plain", "answer 1"), ("plain", "answer 2")]),
        ("new", {"score": 10**400}, {}, Scale(), [("good", f"score 1{'0' * 118}…")]),
        ("new", {"deep": {"er": [{"x": 1}]}}, {}, Scale(), [("plain", "x 1")]),
        (
            "context_relevancy",
            {"numbers": [2]},
            {"sentences": ["1: a", "2: b"]},
            Scale(),
            [("bad", "does not help"), ("good", "helps")],
        ),
        (
            "answer_correctness",
            {"TP": [{"statement": "s", "reason": "r"}], "FP": [], "FN": [{"statement": "t", "reason": "r"}]},
            {},
            Scale(),
            [("good", "in both"), ("bad", "missing in the response")],
        ),
    ],
)
def test_grades_lists_and_unknown_keys_are_shown_by_the_scale_or_plainly(
    metric: str, response: Any, values: Json, scale: Scale, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    run = judged_run(tmp_path, metric, scale, input=values, response=response, confidence=[0.5])
    badges = find(parsed(row_html(run, 0)), ".verdict .badge")
    assert [" ".join(badge.get_text().split()) for badge in badges] == [
        f"{SIGNS[tone]} {word}" for tone, word in expected
    ]  # type: ignore[index]


def test_a_confidence_is_never_rounded_to_certainty(tmp_path: Path) -> None:
    shares = {0.5: "50%", 0.99986: ">99%", 1.0: "100%", 0.001: "<1%"}
    claims = [{"statement": "s", "reason": "r", "verdict": 1}] * len(shares)
    run = judged_run(tmp_path, "faithfulness", Scale(), response={"statements": claims}, confidence=list(shares))
    shown = texts(parsed(row_html(run, 0)), ".confidence")
    assert shown == [f"Confidence of the judge: {share}" for share in shares.values()]


HOSTILE = [
    "<script>alert(1)</script>",
    "</script></article><svg onload=alert(1)>",
    "&lt;b&gt; \" ' onmouseover=alert(1)",
    "abc\u202edcba\u202c",
    "\x00\x1b[31m",
    "half \ud83d a pair",
    "{{ 7 * 7 }}{% raw %}",
]
FIELDS = ("user_input", "response", "reference", "id")


def hostile_run(folder: Path, text: str) -> Run:
    """A run by hand: the program itself refuses some of these texts."""
    folder.mkdir()
    row = {**dict.fromkeys(FIELDS, text), "retrieved_contexts": [text, text], text: text, "m": None}
    failed = {"prompt": text, "prompt_digest": short_digest(text), "input": text, "response": None, "error": text}
    answered = {
        "prompt": "prompt",
        "prompt_digest": "1",
        "input": {"context": text, text: {"column": text}},
        "response": {"reason": text, "verdict": 1, text: text, "list": [text, {text: text}]},
        "confidence": [text],
    }
    judgements = [{**failed, "confidence": []}, answered]
    line = {"row": 0, "sample": "0", "metric": "m", "value": None, "reason": text, "outcome": text}
    (folder / "scores.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "details.jsonl").write_text(json.dumps({**line, "judgements": judgements}) + "\n")
    frame = {"when": {}, "head": text, "tail": "", "keys": {}, "ascii": False}
    (folder / "prompts.json").write_text(json.dumps({"m": {"prompt": {"frames": [frame]}}}))
    (folder / "summary.json").write_text(json.dumps({"m": {"mean": None, "scored": 0, "count": 1, "reasons": {}}}))
    (folder / "manifest.json").write_text(
        json.dumps({"program": "rag_evaluator", "name": text, "metrics": {}, "config": {}})
    )
    return Run(folder)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_text_in_every_field(tmp_path: Path, text: str) -> None:
    run = hostile_run(tmp_path / "run", text)
    for fragment in (row_html(run, 0), pair_html([run, run], [0, 0])):
        fragment.encode()
        article = parsed(fragment)
        assert not article.find_all(["script", "b", "svg"])
        assert not article.find_all(onload=True)
        assert not any(sign in fragment for sign in "\x00\x1b\u202e")
        assert len(find(article, ".prompt pre.input")) == (1 if len(find(article, ".side")) == 0 else 2)
        if text.isprintable():
            assert text in article.get_text()
    frames_of(run)["x"] = ""
    json.dumps(frames_of(run), ensure_ascii=False).encode()


def test_every_number_in_an_answer_to_a_prompt_of_a_metric_has_a_meaning() -> None:
    """A new metric needs rows in `MEANINGS`, or keys that are grades or facts."""
    prompts = all_prompts()
    for name, metric in METRICS.items():
        for prompt in metric.prompts:
            schema = prompts[metric.owner or name, prompt].output_model.model_json_schema()
            for key in numbers_of(schema, schema.get("$defs", {})):
                meanings = [*verdicts(name, prompt, key, 0, "reference"), *verdicts(name, prompt, key, 1, "reference")]
                is_fact = not meanings  # such as a probability: no verdict
                assert any(meanings) or key in GRADES or is_fact, f"{name}, {prompt}: {key}"


def numbers_of(schema: Any, definitions: Any) -> list[str]:
    """The names of numbers and lists of numbers in a schema."""
    found = []
    for name, part in schema.get("properties", {}).items():
        inner = part.get("items", part)
        if inner.get("type") == "integer" or all(isinstance(value, int) for value in inner.get("enum", [""])):
            found.append(name)
        if "$ref" in inner:
            found += numbers_of(definitions[inner["$ref"].rpartition("/")[2]], definitions)
    return found


def test_two_runs_show_their_responses_and_differences(run: Run, tmp_path: Path) -> None:
    other = made(tmp_path / "other", [{**ROW, "response": "He was born in Selo."}], metrics=["faithfulness", "tone"])
    article = parsed(pair_html([run, other], [0, 0]))
    assert texts(article, ".question") == ["Where was he born?"]
    assert texts(article, ".side > h3") == ["run Row a7", "other Row a7"]  # by folder, as both have the same name
    legend = "Only in this response"
    assert texts(article, ".response ins") == ["Tesk, a city", legend, "Selo", legend]
    rows = [texts(row, "th, td") for row in find(article, ".differences tbody tr")]
    assert ["faithfulness", "0.50", "0.50", "0.00"] in rows
    assert ["exact_match", "0.00", "–", "–"] in rows
    assert len(texts(article, ".reference")) == 1
