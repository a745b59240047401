"""`python -m benchmarks.answer_lengths`: the ratios on the page that it writes."""

from typing import Any

from benchmarks.answer_lengths import page

ABOUT = {"command": "python -m benchmarks.answer_lengths", "date": "2026-11-23", "machine": "x86_64", "note": ""}


def figures(way: str, rows: int, cpu: float, answers: int, tokens: int) -> dict[str, Any]:
    known = {"way": way, "samples": rows, "cpu": cpu, "seconds": 2 * cpu, "requests": answers, "generated": tokens}
    return {**known, "computed": 1000, "missing": 0, "scores": 6 * rows}


def test_ratios_are_medians_of_pairs_and_a_row_of_many_is_cheaper() -> None:
    new = figures("rag-evaluator", 2, 4.0, 20, 600)
    pairs = [(figures("old", 2, cpu, 100, 10_000), new) for cpu in (40.0, 60.0, 44.0)]
    many = figures("rag-evaluator", 64, 32.0, 640, 19_200)
    until_limit = [(figures("old", 2, 90.0, 100, 25_600), new)]

    shown = page(
        {
            "128": {"pairs": pairs, "many": many, **ABOUT},
            "256, until the limit": {"pairs": until_limit, "many": None, **ABOUT},
        }
    ).splitlines()

    both = "11.0 (10.0 to 15.0 in 3 pairs)"
    assert f"| 128 | 2 | 100 and 30 | {both} | {both} |" in shown
    assert "| 256, until the limit | 2 | 256 and 30 | 22.5 | 22.5 |" in shown
    [of_many] = [line for line in shown if line.startswith("Of 64 rows, with 128 new tokens at most")]
    assert "a row takes 0.50 CPU seconds here" in of_many
    assert of_many.endswith("22.0 CPU seconds a row: **44 times**.")
    assert "| 128 | rag-evaluator | 64 | 32.0 | 64.0 | 640 | 19,200 | 30 | 1,000 | 0/384 |" in shown
    assert shown.count("Made by `python -m benchmarks.answer_lengths`, 2026-11-23, x86_64.") == 1
