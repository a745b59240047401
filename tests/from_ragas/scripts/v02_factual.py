"""ragas 0.2: `EvaluationDataset.from_list`, one metric in two modes."""

from local_models import llm

from rag_evaluator.ragas import EvaluationDataset, evaluate
from rag_evaluator.ragas.metrics import FactualCorrectness, ResponseGroundedness

dataset = EvaluationDataset.from_list(
    [
        {
            "user_input": "Where was Nolu Brak born?",
            "retrieved_contexts": ["Nolu Brak was born in Tesk."],
            "response": "Nolu Brak was born in Tesk.",
            "reference": "He was born in Tesk.",
        },
        {
            "user_input": "What is Harn known for?",
            "retrieved_contexts": ["The Harn bridge has three arches."],
            "response": "Harn is known for its lake.",
            "reference": "Harn is known for its bridge.",
        },
    ]
)
metrics = [FactualCorrectness(mode="precision"), FactualCorrectness(mode="recall"), ResponseGroundedness()]
result = evaluate(dataset, metrics=metrics, llm=llm)
print(result)
