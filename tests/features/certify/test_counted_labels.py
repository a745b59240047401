"""The mean label of rows with clusters: by hand, and with the coverage that it promises."""

from pathlib import Path

import numpy as np
from aliases import Json
from labelled_runs import exact_rows, exact_run

from rag_evaluator import certify
from rag_evaluator.statistics import Scale, label_mean, with_clusters


def mean_of(folder: Path) -> Json:
    figures: Json = certify(folder, label={"exact_match": "human"}).certificate["metrics"]["exact_match"]
    found: Json = figures["label_mean"]
    return found


def test_clusters_widen_the_interval_of_the_mean_label(tmp_path: Path) -> None:
    """Each row four times: no more is known than from the ten first ones."""
    first = [row for row in exact_rows() if row["id"] in {f"r{place}" for place in (0, 1, 2, 3, 4, 30, 31, 32, 33, 39)}]
    rows = [{**row, "id": f"{row['id']}.{copy}", "document": row["id"]} for row in first for copy in range(4)]
    clustered = mean_of(exact_run(tmp_path / "run", rows, cluster="document"))
    apart = mean_of(exact_run(tmp_path / "apart", rows))
    alone = label_mean([0.5] * 10, [row["human"] for row in first])
    assert clustered["label_mean"] == apart["label_mean"]
    assert alone.ci_low is not None and alone.ci_high is not None
    width = {name: each["ci_high"] - each["ci_low"] for name, each in (("clustered", clustered), ("apart", apart))}
    assert width["apart"] < 0.6 * width["clustered"]
    assert width["clustered"] > 0.85 * (alone.ci_high - alone.ci_low)
    assert clustered["ci_method"].endswith(", clustered")


def test_intervals_of_clustered_rows_cover() -> None:
    """600 rows in 60 documents, whose means differ; 60 labels; a judge that is right in 85 % of rows."""
    rng = np.random.default_rng(3)
    covered = 0
    plain = 0
    documents = [row // 10 for row in range(600)]
    for _ in range(200):
        shares = np.repeat(rng.beta(0.8, 0.8, 60), 10)
        people = (rng.random(600) < shares).astype(float)
        scores = np.where(rng.random(600) < 0.85, people, 1 - people)
        labels = np.full(600, np.nan)
        drawn = rng.choice(600, 60, replace=False)
        labels[drawn] = people[drawn]
        found = label_mean(scores, labels, Scale())
        wider = with_clusters(found, scores, labels, Scale(), documents)
        assert found.ci_low is not None and found.ci_high is not None
        assert wider.ci_low is not None and wider.ci_high is not None
        plain += found.ci_low <= 0.5 <= found.ci_high
        covered += wider.ci_low <= 0.5 <= wider.ci_high
    assert covered / 200 >= 0.93
    assert plain < covered
