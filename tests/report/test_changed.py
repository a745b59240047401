"""The rows that changed most, as the comparison of runs shows them."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from report.made_files import NONE, made_run
from report.test_charts import HOSTILE, assert_harmless

from rag_evaluator import compare
from rag_evaluator.report import columns_of, comparison_html, rows_of, table_values
from rag_evaluator.results import Comparison, Run
from rag_evaluator.statistics import Scale

SCALES = {"noise_sensitivity": Scale(0, 1, "continuous", "lower"), "semantic_similarity": Scale(-1, 1)}
Scores = Mapping[str, Sequence[float]]


def judged(row: int, claim: str, verdict: int, reason: str) -> dict[str, Any]:
    answer = {"statements": [{"statement": claim, "reason": reason, "verdict": verdict}]}
    judgement = {"prompt": "nli_statement_prompt", "prompt_digest": "d", "input": {}, "response": answer}
    return {"row": row, "sample": "ab", "metric": "faithfulness", "value": float(verdict), "judgements": [judgement]}


def two(
    tmp_path: Path,
    first: Scores,
    second: Scores,
    questions: Sequence[str],
    responses: Sequence[Sequence[str | None]] | None = None,
    said: Sequence[Sequence[Mapping[str, Any]]] = ((), ()),
) -> tuple[Comparison, list[Run]]:
    """Two runs compared; without `responses` these are the questions."""
    folders = []
    for place, (name, scores) in enumerate((("a", first), ("b", second))):
        texts = questions if responses is None else responses[place]
        rows = [{"user_input": asked, "response": text} for asked, text in zip(questions, texts, strict=True)]
        folders.append(made_run(tmp_path / name, scores, SCALES, rows=rows, details=said[place]))
    return compare(*folders), [Run(folder) for folder in folders]


def text_of(page: str) -> str:
    blocks = re.sub(r"</(p|li|div|h5|summary)>", " ", page.replace("<wbr>", ""))
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", blocks)).split())


def changed_part(page: str) -> str:
    return page[page.index("Rows that changed most") :]


def links(page: str) -> list[tuple[str, dict[str, str]]]:
    """What a link says, and the filter that it sets."""
    found = re.findall(r'<a href="#([^"]*metric=[^"]*)">(.*?)</a>', changed_part(page))
    return [
        (text_of(words), {key: values[0] for key, values in parse_qs(html.unescape(href)).items()})
        for href, words in found
    ]


def counted(runs: Sequence[Run], on: str, query: Mapping[str, str]) -> int:
    """How many rows the table shows with this filter, as `filtered` of `embedded.js` chooses them."""
    values = [row.scores.get(query["metric"]) for row in rows_of(runs, on)]
    low = float(query.get("min", -math.inf)) - 1e-9
    high = float(query.get("max", math.inf)) + 1e-9
    return sum(value is not None and low <= value <= high for value in values)


def test_a_row_says_what_changed_and_shows_both_responses_with_the_words_that_differ(tmp_path: Path) -> None:
    responses = [["It lies in Annam.", "Same."], ["It lies in Tonkin.", "Same."]]
    said = [[judged(0, "Annam", 1, "so")], [judged(0, "Annam", 0, "no word of it")]]
    scores = [{"faithfulness": [1.0, 0.5], "bleu": [0.9, 0.5]}, {"faithfulness": [0.0, 1.0], "bleu": [0.1, 0.5]}]
    comparison, _ = two(tmp_path, *scores, ["Where is it?", "And this?"], responses, said)
    page = comparison_html(comparison)
    text = text_of(changed_part(page))
    assert "faithfulness 1.00 → 0.00 Row 1 Where is it?" in text
    assert "Claim “Annam”: not supported instead of supported. no word of it" in text
    assert "It lies in <ins>Annam</ins>." in page
    assert "It lies in <del>Tonkin</del>." in page
    assert "Also changed: bleu 0.90 → 0.10" in text
    assert "Response, the same in both runs" in text
    assert [text.count(question) for question in ("Where is it?", "And this?")] == [1, 1]


def test_where_the_response_is_the_same_the_contexts_that_came_and_went_are_shown(tmp_path: Path) -> None:
    folders = []
    for name, score, contexts in (("a", 1.0, ["Kept.", "Gone."]), ("b", 0.0, ["New.", "Kept."])):
        rows = [{"user_input": "Where?", "response": "Here.", "retrieved_contexts": contexts}]
        folders.append(made_run(tmp_path / name, {"faithfulness": [score]}, SCALES, rows=rows))
    text = text_of(changed_part(comparison_html(compare(*folders))))
    assert "Went: context 2 of a Gone. Came: context 1 of b New." in text
    assert "Kept." not in text


def test_metrics_of_which_lower_is_better_say_so_and_their_rows_became_worse_where_they_rose(tmp_path: Path) -> None:
    comparison, _ = two(tmp_path, {"noise_sensitivity": [0.2, 0.5]}, {"noise_sensitivity": [0.9, 0.1]}, ["P?", "Q?"])
    text = text_of(changed_part(comparison_html(comparison)))
    means = "noise_sensitivity (wrong statements that come from the contexts)"
    assert f"In {means} b scores better in 1 of 2 rows, worse in 1, the same in 0." in text_of(
        comparison_html(comparison)
    )
    worse = text.index("▼ Became worse")
    better = text.index("▲ Became better")
    assert worse < text.index("noise_sensitivity 0.20 → 0.90 lower is better Row 1 P?") < better
    assert better < text.index("noise_sensitivity 0.50 → 0.10 lower is better Row 2 Q?")


@pytest.mark.parametrize("questions", [["P?", "Q?", "R?", "S?", "T?", "U?"], ["P?", "P?", "P?", "Q?", "Q?", "R?"]])
def test_a_link_shows_rows_of_the_table(tmp_path: Path, questions: list[str]) -> None:
    first = {"faithfulness": [0.0, 0.5, 1.0, 0.5, NONE, 1.0], "semantic_similarity": [1.0, 0.9, -0.5, 0.1, 0.2, 0.3]}
    second = {
        "faithfulness": [0.5, 0.0, 1.0, 0.0, 1.0, 0.0],
        "semantic_similarity": [1.0000000000000002, 0.8, 0.5, 0.1 - 1e-6, 0.2 + 3e-7, 0.3 - 2e-6],
    }
    noisy = [
        {"noise_sensitivity": [0.0, 1.0, 0.5, 0.5, 0.0, NONE]},
        {"noise_sensitivity": [1.0, 1.0, 0.2, 0.1, 0.0, 1.0]},
    ]
    comparison, runs = two(tmp_path, {**first, **noisy[0]}, {**second, **noisy[1]}, questions)
    shown = links(comparison_html(comparison))
    assert {query["metric"] for _, query in shown} == {f"{metric} 1-0" for metric in [*first, *noisy[0]]}
    assert {query["metric"] for _, query in shown} <= {column.key for column in columns_of(runs)}
    for words, query in shown:
        assert query["metric"] == query["sort"] == f"{words} 1-0"
        assert counted(runs, comparison.on, query) > 0
    directions = [(words, "max" in query, "descending" in query) for words, query in shown]
    assert ("faithfulness", True, False) in directions
    assert ("noise_sensitivity", False, True) in directions


def test_hostile_texts_are_shown_as_text(tmp_path: Path) -> None:
    questions = [f"{HOSTILE} 1?", f"{HOSTILE} 2?"]
    texts = [[f"{HOSTILE} yes", HOSTILE], [f"{HOSTILE} no", None]]
    said = [[judged(0, HOSTILE, verdict, HOSTILE)] for verdict in (1, 0)]
    comparison, _ = two(tmp_path, {"faithfulness": [1.0, 0.0]}, {"faithfulness": [0.0, 1.0]}, questions, texts, said)
    page = comparison_html(comparison)
    assert_harmless(page)
    text = text_of(page)
    assert "Claim “<img src=x onerror=alert(1)>\"'&#x3c;</script>[U+202E][U+D800][U+0000]" in text
    assert "not supported instead of supported. <img src=x" in text


@pytest.mark.parametrize(("metrics", "keys"), [(4, ["response", "response 1"]), (5, [])])
def test_the_table_has_the_responses_of_both_runs_where_few_metrics_leave_room(
    tmp_path: Path, metrics: int, keys: list[str]
) -> None:
    scores = {f"m{number}": [0.5, 0.5] for number in range(metrics)}
    _, runs = two(tmp_path, scores, scores, ["P?", "Q?"], (["old P", "old Q"], ["new P", "new Q"]))
    assert list(table_values(runs)["texts"]) == keys
    assert [(row.texts["response"], row.texts["response 1"]) for row in rows_of(runs, "user_input")] == [
        ("old P", "new P"),
        ("old Q", "new Q"),
    ]
