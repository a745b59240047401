"""The public names, and where each lives."""

from .comparison.compare import compare, write_report
from .comparison.gate import gate
from .comparison.gate_verdicts import GateVerdicts
from .config.schema import Config, load_config
from .dataset import load_dataset
from .errors import (
    BudgetError,
    ConfigError,
    DatasetError,
    JudgeLostError,
    JudgementError,
    MissingChunksError,
    ModelError,
    NotApplicableError,
    PromptError,
    PromptTooLongError,
    RagEvaluatorError,
    ResultsError,
    UndefinedScoreError,
)
from .evaluator import RAGEvaluator
from .features.app.apply import Applied, apply_reviews
from .features.certify.certify import Certification, certify, label_sheet
from .features.chains.collect import collect
from .features.chains.evaluate_lists import Scores, evaluate
from .features.chains.langchain import EvaluatorChain
from .features.probe.stage import ProbeReport, probe
from .features.setup.check import check
from .features.setup.checks import Check, CheckReport
from .ground_truth import generate
from .judge.judge import Judge
from .judge.scripted import ScriptedJudge
from .metrics.given_metrics import CustomMetric, metric
from .metrics.table import METRICS
from .results.questions import read_questions
from .results.results import Results
from .sort import sort
from .verifiers.verifier import Verifier

__version__: str

__all__ = [
    "METRICS",
    "Applied",
    "BudgetError",
    "Certification",
    "Check",
    "CheckReport",
    "Config",
    "ConfigError",
    "CustomMetric",
    "DatasetError",
    "EvaluatorChain",
    "GateVerdicts",
    "Judge",
    "JudgeLostError",
    "JudgementError",
    "MissingChunksError",
    "ModelError",
    "NotApplicableError",
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
    "Verifier",
    "apply_reviews",
    "certify",
    "check",
    "collect",
    "compare",
    "evaluate",
    "gate",
    "generate",
    "label_sheet",
    "load_config",
    "load_dataset",
    "metric",
    "probe",
    "read_questions",
    "sort",
    "write_report",
]
