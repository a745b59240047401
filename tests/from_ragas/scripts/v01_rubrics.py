"""ragas 0.1.10 and later: rubrics, entities, noise of two kinds."""

from datasets import Dataset
from local_models import llm

from rag_evaluator.ragas import evaluate
from rag_evaluator.ragas.metrics import (
    context_entity_recall,
    labelled_rubrics_score,
    noise_sensitivity_irrelevant,
    noise_sensitivity_relevant,
)

rows = {
    "question": ["Where was Nolu Brak born?"],
    "contexts": [["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."]],
    "answer": ["Nolu Brak was born in Tesk, in 1900."],
    "ground_truth": ["He was born in Tesk."],
}
result = evaluate(
    Dataset.from_dict(rows),
    metrics=[context_entity_recall, labelled_rubrics_score, noise_sensitivity_relevant, noise_sensitivity_irrelevant],
    llm=llm,
)
print(result)
