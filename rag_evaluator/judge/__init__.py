"""The judge: a local language model behind ragas' own interface, whose answers always parse."""

from rag_evaluator.judge.judge import Judge, Opinion
from rag_evaluator.judge.local import find_model
from rag_evaluator.judge.loops import run
from rag_evaluator.judge.requests import Judgement, PromptText
from rag_evaluator.judge.scheduler import Scheduler, Worker
from rag_evaluator.judge.scripted import ScriptedJudge
from rag_evaluator.questions import digest

__all__ = [
    "Judge",
    "Judgement",
    "Opinion",
    "PromptText",
    "Scheduler",
    "ScriptedJudge",
    "Worker",
    "digest",
    "find_model",
    "run",
]
