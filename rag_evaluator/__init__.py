"""Evaluate RAG systems with ragas metrics and local Hugging Face models, offline, in the data's own language."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evaluator.offline import stop_ragas_telemetry

if TYPE_CHECKING:
    from rag_evaluator.api.certify import Certification, certify
    from rag_evaluator.api.check import Check, CheckReport, check
    from rag_evaluator.api.collect import collect
    from rag_evaluator.api.compare import compare
    from rag_evaluator.api.doctor import Diagnosis, doctor
    from rag_evaluator.api.duel import Duel, duel
    from rag_evaluator.api.evaluator import RAGEvaluator
    from rag_evaluator.api.functions import Scores, evaluate, generate, sort
    from rag_evaluator.api.gate import GateVerdicts, gate
    from rag_evaluator.api.label_sheet import label_sheet
    from rag_evaluator.api.langchain import EvaluatorChain
    from rag_evaluator.api.plan import plan
    from rag_evaluator.api.planned import PlannedJudge, PlannedMetric, PlannedRun
    from rag_evaluator.api.probe import ProbeReport, probe
    from rag_evaluator.api.report import write_report
    from rag_evaluator.api.review import Applied, apply_reviews
    from rag_evaluator.api.testset import CheckedTestset, MadeTestset, check_testset, make_testset
    from rag_evaluator.config import Config, load_config
    from rag_evaluator.dataset import load_dataset
    from rag_evaluator.errors import (
        BudgetError,
        ConfigError,
        DatasetError,
        JudgeLostError,
        JudgementError,
        MissingChunksError,
        ModelError,
        PromptError,
        PromptTooLongError,
        RagEvaluatorError,
        ResultsError,
        UndefinedScoreError,
    )
    from rag_evaluator.judge.judge import Judge
    from rag_evaluator.judge.scripted import ScriptedJudge
    from rag_evaluator.metrics.own_metrics import CustomMetric, metric
    from rag_evaluator.metrics.table import METRICS
    from rag_evaluator.results.kept_prompts import read_questions
    from rag_evaluator.results.results import Results

__version__ = "0.1.0"
__all__ = [
    "METRICS",
    "Applied",
    "BudgetError",
    "Certification",
    "Check",
    "CheckReport",
    "CheckedTestset",
    "Config",
    "ConfigError",
    "CustomMetric",
    "DatasetError",
    "Diagnosis",
    "Duel",
    "EvaluatorChain",
    "GateVerdicts",
    "Judge",
    "JudgeLostError",
    "JudgementError",
    "MadeTestset",
    "MissingChunksError",
    "ModelError",
    "PlannedJudge",
    "PlannedMetric",
    "PlannedRun",
    "ProbeReport",
    "PromptError",
    "PromptTooLongError",
    "RAGEvaluator",
    "RagEvaluatorError",
    "Results",
    "ResultsError",
    "Scores",
    "ScriptedJudge",
    "UndefinedScoreError",
    "apply_reviews",
    "certify",
    "check",
    "check_testset",
    "collect",
    "compare",
    "doctor",
    "duel",
    "evaluate",
    "gate",
    "generate",
    "label_sheet",
    "load_config",
    "load_dataset",
    "make_testset",
    "metric",
    "plan",
    "probe",
    "read_questions",
    "sort",
    "write_report",
]
_HOMES = {
    "METRICS": "metrics.table",
    "Applied": "api.review",
    "BudgetError": "errors",
    "Certification": "api.certify",
    "Check": "api.check",
    "CheckReport": "api.check",
    "CheckedTestset": "api.testset",
    "Config": "config",
    "ConfigError": "errors",
    "CustomMetric": "metrics.own_metrics",
    "DatasetError": "errors",
    "Diagnosis": "api.doctor",
    "Duel": "api.duel",
    "EvaluatorChain": "api.langchain",
    "GateVerdicts": "api.gate",
    "Judge": "judge.judge",
    "JudgeLostError": "errors",
    "JudgementError": "errors",
    "MadeTestset": "api.testset",
    "MissingChunksError": "errors",
    "ModelError": "errors",
    "PlannedJudge": "api.planned",
    "PlannedMetric": "api.planned",
    "PlannedRun": "api.planned",
    "ProbeReport": "api.probe",
    "PromptError": "errors",
    "PromptTooLongError": "errors",
    "RAGEvaluator": "api.evaluator",
    "RagEvaluatorError": "errors",
    "Results": "results.results",
    "ResultsError": "errors",
    "Scores": "api.functions",
    "ScriptedJudge": "judge.scripted",
    "UndefinedScoreError": "errors",
    "apply_reviews": "api.review",
    "certify": "api.certify",
    "check": "api.check",
    "check_testset": "api.testset",
    "collect": "api.collect",
    "compare": "api.compare",
    "doctor": "api.doctor",
    "duel": "api.duel",
    "evaluate": "api.functions",
    "gate": "api.gate",
    "generate": "api.functions",
    "label_sheet": "api.label_sheet",
    "load_config": "config",
    "load_dataset": "dataset",
    "make_testset": "api.testset",
    "metric": "metrics.own_metrics",
    "plan": "api.plan",
    "probe": "api.probe",
    "read_questions": "results.kept_prompts",
    "sort": "api.functions",
    "write_report": "api.report",
}

stop_ragas_telemetry()


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: torch and ragas take seconds to import."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_evaluator' has no attribute '{name}'")
    return getattr(import_module(f"rag_evaluator.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
