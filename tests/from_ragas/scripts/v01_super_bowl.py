"""ragas 0.1: singletons, a `datasets.Dataset` with the old names of columns, no model named."""

from datasets import Dataset

from rag_evaluator.ragas import evaluate
from rag_evaluator.ragas.metrics import (
    answer_correctness,
    answer_relevancy,
    answer_similarity,
    context_precision,
    context_recall,
    context_utilization,
    faithfulness,
)

data = {
    "question": ["When did the bridge at Harn open?", "Who paid for it?"],
    "answer": ["The bridge opened in May 1921.", "The town of Tesk paid."],
    "contexts": [
        ["The bridge at Harn was opened in May 1921, after three years.", "Harn lies on the river Om."],
        ["Tesk paid for the bridge.", "Harn had no money left."],
    ],
    "ground_truth": ["It opened in May 1921.", "Tesk paid for the bridge."],
}
result = evaluate(
    Dataset.from_dict(data),
    [
        faithfulness,
        answer_relevancy,
        context_recall,
        context_precision,
        context_utilization,
        answer_similarity,
        answer_correctness,
    ],
)
print(result)
