"""The one door to ragas: everything that this program uses of it."""

from ragas import metrics, prompt
from ragas.dataset_schema import EvaluationDataset, SingleTurnSample
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics import base, collections
from ragas.metrics.base import (
    Metric as OldMetric,
)
from ragas.metrics.base import (
    MetricWithEmbeddings,
    MetricWithLLM,
    SimpleBaseMetric,
    SimpleLLMMetric,
    SingleTurnMetric,
)
from ragas.metrics.collections import InstanceSpecificRubrics, QuotedSpansAlignment, SummaryScore
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.collections.context_recall.util import ContextRecallInput
from ragas.metrics.collections.domain_specific_rubrics.util import format_rubrics
from ragas.metrics.collections.faithfulness.util import NLIStatementOutput
from ragas.metrics.collections.instance_specific_rubrics.util import InstanceRubricScoreInput
from ragas.metrics.collections.quoted_spans.util import extract_quoted_spans
from ragas.metrics.result import MetricResult
from ragas.prompt.metrics.base_prompt import BasePrompt

__all__ = [
    "BaseMetric",
    "BasePrompt",
    "BaseRagasEmbedding",
    "ContextRecallInput",
    "EvaluationDataset",
    "InstanceRubricScoreInput",
    "InstanceSpecificRubrics",
    "InstructorBaseRagasLLM",
    "MetricResult",
    "MetricWithEmbeddings",
    "MetricWithLLM",
    "NLIStatementOutput",
    "OldMetric",
    "QuotedSpansAlignment",
    "SimpleBaseMetric",
    "SimpleLLMMetric",
    "SingleTurnMetric",
    "SingleTurnSample",
    "SummaryScore",
    "base",
    "collections",
    "extract_quoted_spans",
    "format_rubrics",
    "metrics",
    "prompt",
]
