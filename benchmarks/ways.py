"""The two ways, each as a function of rows and model that gives a measurement."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.watch import Measurement, count_passes, watch
from rag_evaluator.config import EmbeddingsConfig, JudgeConfig

METRICS = (
    "context_precision_without_reference",
    "context_precision_with_reference",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    "context_relevance",
)


def old_way(
    rows: list[dict[str, Any]], model: Path, settings: JudgeConfig, retries: bool, until_limit: bool = False
) -> Measurement:
    """`LangchainLLMWrapper(HuggingFacePipeline(...))` with `ragas.evaluate`, as its users write it today.

    Args:
        retries: whether what does not parse is asked for again, as ragas does.
        until_limit: a model that never ends an answer before `max_new_tokens`.
    """
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
            **({"min_new_tokens": settings.max_new_tokens} if until_limit else {}),
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
        if not retries and hasattr(metric, "retry"):
            metric.retry = 1  # askings for a rating
    result = Measurement("ragas with HuggingFacePipeline", len(rows))
    repair = nullcontext() if retries else _no_repair()
    causal = pipeline.pipeline.model
    with repair, count_passes(result, causal), watch(result, [causal, embeddings._client]):
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
    result.scores = len(values)
    result.missing = sum(math.isnan(value) for value in values)
    return result


@contextmanager
def _no_repair() -> Iterator[None]:
    """Keep ragas from asking the model to repair what does not parse."""
    from ragas.prompt.pydantic_prompt import RagasOutputParser

    parse = RagasOutputParser.parse_output_string

    async def parse_once(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await parse(self, *args, **{**kwargs, "retries_left": 0})

    RagasOutputParser.parse_output_string = parse_once
    try:
        yield
    finally:
        RagasOutputParser.parse_output_string = parse


def new_way(rows: list[dict[str, Any]], model: Path, settings: JudgeConfig) -> Measurement:
    """This project, models loaded before the clock starts."""
    from rag_evaluator import Judge, RAGEvaluator
    from rag_evaluator.embeddings import LocalEmbeddings

    judge = Judge.from_config(settings.model_copy(update={"model": str(model)}))
    embeddings = LocalEmbeddings.from_config(EmbeddingsConfig())
    config = {"metrics": list(METRICS), "judge": settings.model_dump()}
    evaluator = RAGEvaluator(config, judge=judge, embeddings=embeddings)
    result = Measurement("rag-evaluator", len(rows))
    with watch(result, [judge.inner.engine.model, embeddings.model._client]):
        scored = evaluator.evaluate(rows)
    summaries = scored.summary().values()
    result.scores = sum(summary["count"] for summary in summaries)
    result.missing = result.scores - sum(summary["scored"] for summary in summaries)
    judged = [one for scores in scored.scores.values() for score in scores for one in score.judgements]
    result.requests = len(judged)
    result.computed = judge.inner.engine.decoder.computed
    result.generated = sum(one["generated_tokens"] for one in judged)
    result.prompt_tokens = sum(one["prompt_tokens"] for one in judged)
    return result
