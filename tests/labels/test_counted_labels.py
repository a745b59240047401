"""The mean label of rows with weights and clusters: by hand, and with the coverage that it promises."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled_runs import exact_rows, exact_run

from rag_evaluator import certify, compare
from rag_evaluator.statistics.formulas import Scale
from rag_evaluator.statistics.ppi import label_mean, with_clusters, with_weights


def mean_of(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = certify(folder, label={"exact_match": "human"}).certificate["metrics"]["exact_match"]
    found: dict[str, Any] = figures["label_mean"]
    return found


def test_weights_count_in_the_mean_label(tmp_path: Path) -> None:
    """Rows that people accept weigh 3: 19 of 40 are 57 of 78."""
    rows = [{**row, "asked": 3 if row["human"] else 1} for row in exact_rows()]
    found = mean_of(exact_run(tmp_path / "run", rows, weight="asked"))
    assert found["label_mean"] == pytest.approx(57 / 78)
    assert found["ci_low"] < 57 / 78 < found["ci_high"] <= 1
    right = [row for row in rows if row["answer"] == "yes"]  # whose score is 1
    weights = sum(row["asked"] for row in right)
    assert found["judge_mean"] == pytest.approx(weights / 78)


def test_whole_weights_are_as_wide_as_a_few_rows_and_weight_0_counts_nowhere(tmp_path: Path) -> None:
    rows = [{**row, "asked": 0 if place % 2 else 2} for place, row in enumerate(exact_rows())]
    weighted = mean_of(exact_run(tmp_path / "run", rows, weight="asked"))
    half = mean_of(exact_run(tmp_path / "half", [row for row in rows if row["asked"]]))
    assert weighted["label_mean"] == pytest.approx(half["label_mean"])
    widths = [found["ci_high"] - found["ci_low"] for found in (weighted, half)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_clusters_widen_the_interval_of_the_mean_label(tmp_path: Path) -> None:
    """Each row four times: no more is known than from the ten first ones."""
    first = [row for row in exact_rows() if row["id"] in {f"r{place}" for place in (0, 1, 2, 3, 4, 30, 31, 32, 33, 39)}]
    rows = [{**row, "id": f"{row['id']}.{copy}", "document": row["id"]} for row in first for copy in range(4)]
    clustered = mean_of(exact_run(tmp_path / "run", rows, cluster="document"))
    apart, alone = mean_of(exact_run(tmp_path / "apart", rows)), label_mean([0.5] * 10, [row["human"] for row in first])
    assert clustered["label_mean"] == apart["label_mean"]
    assert alone.ci_low is not None and alone.ci_high is not None
    width = {name: each["ci_high"] - each["ci_low"] for name, each in (("clustered", clustered), ("apart", apart))}
    assert width["apart"] < 0.6 * width["clustered"]
    assert width["clustered"] > 0.85 * (alone.ci_high - alone.ci_low)
    assert clustered["ci_method"].endswith(", clustered")


def test_the_difference_by_labels_counts_weights_and_clusters_of_the_baseline(tmp_path: Path) -> None:
    """Ten rows became better; they weigh 3 and are one document."""
    rows = [{**row, "asked": 3 if 20 <= place < 30 else 1, "document": f"d{place // 10}"}
            for place, row in enumerate(exact_rows())]  # fmt: skip
    better = [{**row, "answer": "yes", "human": 1} if 20 <= place < 30 else row for place, row in enumerate(rows)]
    options = {"weight": "asked", "cluster": "document"}
    folders = [exact_run(tmp_path / "a", rows, **options), exact_run(tmp_path / "b", better, **options)]
    for folder in folders:
        certify(folder, label={"exact_match": "human"})
    [line] = compare(*folders).labels
    assert line.figures is not None
    assert line.figures.label_mean == pytest.approx(30 / 60)
    assert line.figures.ci_low is not None and line.figures.ci_high is not None
    assert line.figures.ci_low < 0 < 30 / 60 < line.figures.ci_high


def test_intervals_of_clustered_and_weighted_rows_cover() -> None:
    """600 rows in 60 documents, whose means differ; 60 labels; a judge that is right in 85 % of rows."""
    rng, covered, plain = np.random.default_rng(3), 0, 0
    documents = [row // 10 for row in range(600)]
    for _ in range(200):
        shares = np.repeat(rng.beta(0.8, 0.8, 60), 10)
        people = (rng.random(600) < shares).astype(float)
        scores = np.where(rng.random(600) < 0.85, people, 1 - people)
        weights = np.repeat(rng.integers(1, 4, 60), 10).astype(float)
        labels = np.full(600, np.nan)
        drawn = rng.choice(600, 60, replace=False)
        labels[drawn] = people[drawn]
        found = with_weights(partial(label_mean), scores, labels, Scale(), weights)
        wider = with_clusters(found, scores, labels, Scale(), documents, weights)
        assert found.ci_low is not None and found.ci_high is not None
        assert wider.ci_low is not None and wider.ci_high is not None
        plain += found.ci_low <= 0.5 <= found.ci_high
        covered += wider.ci_low <= 0.5 <= wider.ci_high
    assert covered / 200 >= 0.93
    assert plain < covered
