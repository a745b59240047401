"""The public names, and where each lives."""

from .api.certify import Certification, certify
from .api.check import check
from .api.checks import Check, CheckReport
from .api.collect import collect
from .api.compare import compare
from .api.doctor import Diagnosis, doctor
from .api.duel import Duel, duel
from .api.evaluator import RAGEvaluator
from .api.functions import Scores, evaluate, generate, sort
from .api.gate import GateVerdicts, gate
from .api.label_draw import label_sheet
from .api.langchain import EvaluatorChain
from .api.plan import PlannedJudge, PlannedMetric, PlannedRun, plan
from .api.probe import ProbeReport, probe
from .api.report import write_report
from .api.review import Applied, apply_reviews
from .api.testset import CheckedTestset, MadeTestset, check_testset, make_testset
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
    PromptError,
    PromptTooLongError,
    RagEvaluatorError,
    ResultsError,
    UndefinedScoreError,
)
from .judge.judge import Judge
from .judge.scripted import ScriptedJudge
from .metrics.given_metrics import CustomMetric, metric
from .metrics.table import METRICS
from .results.kept_prompts import read_questions
from .results.results import Results

__version__: str

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
