"""The two ways, each as a function of rows and model that gives a measurement."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rag_evaluator.config import EmbeddingsConfig, JudgeConfig

METRICS = (
    "context_precision_without_reference",
    "context_precision_with_reference",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    "context_relevance",
)


@dataclass
class Measurement:
    """What one way did with the rows.

    Attributes:
        seconds: wall time of scoring, models already loaded.
        missing: scores that are NaN, of `scores`.
        requests: prompts answered by the model.
        prefill, generated: tokens computed for prompts, and tokens written.
        inside: seconds inside forward passes of the judge and the embeddings.
    """

    way: str
    samples: int
    seconds: float = 0.0
    scores: int = 0
    missing: int = 0
    requests: int = 0
    prefill: int = 0
    generated: int = 0
    inside: float = 0.0
    notes: list[str] = field(default_factory=list)


def old_way(rows: list[dict[str, Any]], model: Path, settings: JudgeConfig, retries: bool) -> Measurement:
    """`LangchainLLMWrapper(HuggingFacePipeline(...))` with `ragas.evaluate`, as its users write it today."""
    from langchain_huggingface import HuggingFacePipeline
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas import metrics as old
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper

    from rag_evaluator.embeddings import load_embeddings

    pipeline = HuggingFacePipeline.from_model_id(
        model_id=str(model),
        task="text-generation",
        model_kwargs={"dtype": settings.dtype},
        pipeline_kwargs={
            "return_full_text": False,
            "max_new_tokens": settings.max_new_tokens,
            "do_sample": False,
        },
    )
    embeddings = load_embeddings(EmbeddingsConfig())
    chosen = [
        old.LLMContextPrecisionWithoutReference(),
        old.LLMContextPrecisionWithReference(),
        old.LLMContextRecall(),
        old.Faithfulness(),
        old.ResponseRelevancy(),
        old.ContextRelevance(),
    ]
    for metric in chosen:
        if not retries and hasattr(metric, "max_retries"):
            metric.max_retries = 1
    result = Measurement("ragas with HuggingFacePipeline", len(rows))
    with _watch(result, pipeline.pipeline.model, embeddings):
        scored = evaluate(
            EvaluationDataset.from_list(rows),
            metrics=chosen,
            llm=LangchainLLMWrapper(pipeline),
            embeddings=LangchainEmbeddingsWrapper(embeddings),
            run_config=RunConfig(max_workers=16, timeout=10**6, max_retries=3 if retries else 1),
            raise_exceptions=False,
            show_progress=False,
        )
    values = [value for line in scored.scores for value in line.values()]
    result.scores, result.missing = len(values), sum(math.isnan(value) for value in values)
    return result


def new_way(rows: list[dict[str, Any]], model: Path, settings: JudgeConfig) -> Measurement:
    """This project, models loaded before the clock starts."""
    from rag_evaluator.embeddings import LocalEmbeddings
    from rag_evaluator.evaluator import RAGEvaluator
    from rag_evaluator.judge import Judge

    judge = Judge.from_config(settings.model_copy(update={"model": str(model)}))
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig())
    config = {"metrics": list(METRICS), "judge": settings.model_dump()}
    evaluator = RAGEvaluator(config, judge=judge, embeddings=embeddings)
    result = Measurement("rag-evaluator", len(rows))
    with _watch(result, judge._decoder.model, embeddings.model):
        scored = evaluator.evaluate(rows)
    summaries = scored.summary().values()
    result.scores = sum(summary["count"] for summary in summaries)
    result.missing = result.scores - sum(summary["scored"] for summary in summaries)
    judgements = [step for scores in scored.scores.values() for score in scores for step in score.judgements]
    result.requests = len(judgements)
    result.generated = sum(step["generated_tokens"] for step in judgements)
    return result


@contextmanager
def _watch(result: Measurement, model: Any, embeddings: Any) -> Iterator[None]:
    """Clock the block and count what passes through the models' forward methods."""
    inner = embeddings._client

    def before(module: Any, args: Any, kwargs: Any) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        if module is model and ids is not None and ids.shape[-1] > 1:
            result.prefill += ids.numel()
        module._benchmark_started = time.perf_counter()

    def after(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        result.inside += time.perf_counter() - module._benchmark_started

    hooks = [
        hook
        for module in (model, inner)
        for hook in (
            module.register_forward_pre_hook(before, with_kwargs=True),
            module.register_forward_hook(after, with_kwargs=True),
        )
    ]
    started = time.perf_counter()
    try:
        yield
    finally:
        result.seconds = time.perf_counter() - started
        for hook in hooks:
            hook.remove()
