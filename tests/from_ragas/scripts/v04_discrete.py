"""ragas 0.4: `DiscreteMetric` and `NumericMetric` with a prompt, functions as metrics; which chunks help to answer."""

from local_models import llm

from rag_evaluator.ragas import evaluate
from rag_evaluator.ragas.metrics import DiscreteMetric, NumericMetric, discrete_metric

relevant = DiscreteMetric(
    name="chunks_help",
    allowed_values=["yes", "no"],
    prompt="Question: {user_input}\nText: {retrieved_contexts}\nDoes the text help to answer the question?",
)
grade = NumericMetric(
    name="grade",
    allowed_values=(1, 5),
    prompt="Expected: {reference}\nReceived: {response}\nGrade what was received from 1 to 5.",
)


@discrete_metric(name="has_full_stop", allowed_values=["pass", "fail"])
def has_full_stop(response):
    return "pass" if response.endswith(".") else "fail"


rows = [
    {
        "user_input": "Where was Nolu Brak born?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk."],
        "response": "In Tesk.",
        "reference": "He was born in Tesk.",
    },
    {
        "user_input": "What is Harn known for?",
        "retrieved_contexts": ["The Harn bridge has three arches."],
        "response": "For its lake",
        "reference": "For its bridge.",
    },
]
result = evaluate(rows, metrics=[relevant, grade, has_full_stop], llm=llm)
print(result)
