"""What works without the packages of the extras, and what says which one it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from rag_evaluator import METRICS, ConfigError, RAGEvaluator

ROW = '{"user_input": "Who?", "response": "Nolu Brak.", "reference": "Nolu Brak."}\n'
NAMES = {"rouge": "rouge-score", "BleuScore": "sacrebleu", "chrf": "sacrebleu"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(ROW, "utf-8")
    return tmp_path / "config.yaml"


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)


@pytest.mark.parametrize(("name", "package"), NAMES.items(), ids=NAMES)
def test_a_metric_without_its_package_is_refused_before_a_model_is_looked_for(
    config: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    config.write_text(f"dataset: rows.jsonl\nmetrics:\n  - exact_match\n  - {name}\njudge: {{model: demo}}\n", "utf-8")
    assert list(RAGEvaluator.from_config(config).metrics)  # with the package it is accepted
    hide(monkeypatch, package)
    with pytest.raises(ConfigError) as refused:
        RAGEvaluator.from_config(config)
    assert str(refused.value) == (
        f"config.yaml, line 4: metrics[1] is '{name}', which needs the package {package}: pip install {package}. "
        "Or leave the metric out."
    )


SCRIPT = """
import sys
sys.modules.update(dict.fromkeys(["rouge_score", "sacrebleu", "ir_measures", "pytrec_eval", "vl_convert"]))
import rag_evaluator
from rag_evaluator.tasks.ranking import retrieval_measures
judge = rag_evaluator.ScriptedJudge(lambda prompt, model: None)
for metric in rag_evaluator.METRICS.values():
    if not (metric.embeddings or metric.missing_package):
        metric.create(judge, None)
print([name for name, metric in rag_evaluator.METRICS.items() if metric.missing_package])
row = {"response": "Nolu Brak.", "reference": "Nolu Brak."}
row |= {"retrieved_contexts": ["a", "b"], "reference_contexts": ["b"]}
chosen = {"metrics": ["exact_match", "retrieval_mrr"], "retrieval": {"match": "exact"}}
results = rag_evaluator.RAGEvaluator(chosen).evaluate([row])
print([figures["mean"] for figures in results.summary().values()], retrieval_measures([1, 0], [0, 1], ["RR"]))
"""


@pytest.mark.processes
def test_everything_else_works_without_them() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listed = [name for name, metric in METRICS.items() if metric.package]
    assert done.stdout.splitlines() == [str(listed), "[1.0, 0.5] {'RR': 1.0}"]
