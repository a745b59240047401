"""ragas 0.1: columns of one's own, `RunConfig`, a table of the scores."""

from datasets import Dataset
from local_models import llm

from rag_evaluator.ragas import RunConfig, evaluate
from rag_evaluator.ragas.metrics import context_relevancy, faithfulness

data = Dataset.from_list(
    [
        {
            "frage": "Where was Nolu Brak born?",
            "fundstellen": ["Nolu Brak was born in Tesk. He liked rain."],
            "antwort": "In Tesk.",
        },
        {
            "frage": "What is Harn known for?",
            "fundstellen": ["The Harn bridge has three arches.", "Harn is old."],
            "antwort": "For its bridge.",
        },
    ]
)
result = evaluate(
    data,
    metrics=[faithfulness, context_relevancy],
    llm=llm,
    run_config=RunConfig(timeout=600, max_workers=4),
    raise_exceptions=False,
    column_map={"question": "frage", "contexts": "fundstellen", "answer": "antwort"},
)
frame = result.to_pandas()
print(frame[["user_input", "faithfulness", "context_relevancy"]])
