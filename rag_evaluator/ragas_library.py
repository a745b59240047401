"""The one door to ragas: everything that this program uses of it."""

import sys
from types import ModuleType

try:
    import langchain_community.chat_models.vertexai  # noqa: F401
except ModuleNotFoundError:  # removed in 0.4.2: ragas 0.4.3 imports its class, to tell which models it wraps
    vertexai = ModuleType("langchain_community.chat_models.vertexai")
    vertexai.ChatVertexAI = type("ChatVertexAI", (), {})  # type: ignore[attr-defined]
    sys.modules[vertexai.__name__] = vertexai

from ragas import metrics as metrics
from ragas import prompt as prompt
from ragas.dataset_schema import EvaluationDataset as EvaluationDataset
from ragas.dataset_schema import SingleTurnSample as SingleTurnSample
from ragas.embeddings.base import BaseRagasEmbedding as BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM as InstructorBaseRagasLLM
from ragas.metrics import base as base
from ragas.metrics import collections as collections
from ragas.metrics.base import MetricWithEmbeddings as MetricWithEmbeddings
from ragas.metrics.base import MetricWithLLM as MetricWithLLM
from ragas.metrics.base import SimpleBaseMetric as SimpleBaseMetric
from ragas.metrics.base import SimpleLLMMetric as SimpleLLMMetric
from ragas.metrics.base import SingleTurnMetric as SingleTurnMetric
from ragas.metrics.collections import InstanceSpecificRubrics as InstanceSpecificRubrics
from ragas.metrics.collections import QuotedSpansAlignment as QuotedSpansAlignment
from ragas.metrics.collections import SummaryScore as SummaryScore
from ragas.metrics.collections.base import BaseMetric as BaseMetric
from ragas.metrics.collections.context_recall.util import ContextRecallInput as ContextRecallInput
from ragas.metrics.collections.domain_specific_rubrics.util import format_rubrics as format_rubrics
from ragas.metrics.collections.faithfulness.util import NLIStatementOutput as NLIStatementOutput
from ragas.metrics.collections.instance_specific_rubrics.util import (
    InstanceRubricScoreInput as InstanceRubricScoreInput,
)
from ragas.metrics.collections.quoted_spans.util import extract_quoted_spans as extract_quoted_spans
from ragas.metrics.result import MetricResult as MetricResult
from ragas.prompt.metrics.base_prompt import BasePrompt as BasePrompt
from ragas.run_config import RunConfig as RunConfig
