"""The public names, and where each lives."""

from .comparison import GateVerdicts, compare, gate, write_report
from .config import Config, load_config
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
from .features.app import Applied, apply_reviews
from .features.certify import Certification, certify, label_sheet
from .features.chains import EvaluatorChain, Scores, collect, evaluate
from .features.probe import ProbeReport, probe
from .features.setup import Check, CheckReport, check
from .ground_truth import generate
from .judge import Judge, ScriptedJudge
from .metrics import METRICS, CustomMetric, metric
from .results import Results, read_questions
from .sort import sort
from .verifiers import Verifier

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
