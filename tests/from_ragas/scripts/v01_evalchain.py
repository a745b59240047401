"""ragas 0.1 in LangChain: one chain for each metric, over the results of a chain for questions."""

from rag_evaluator.ragas.langchain.evalchain import RagasEvaluatorChain

from rag_evaluator.ragas.metrics import context_precision, context_recall, faithfulness

results = [
    {
        "query": "Where was Nolu Brak born?",
        "result": "Nolu Brak was born in Tesk.",
        "source_documents": ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
        "ground_truths": "In Tesk.",
    },
    {
        "query": "What is Harn known for?",
        "result": "Harn is known for its lake.",
        "source_documents": ["The Harn bridge has three arches."],
        "ground_truths": "For its bridge.",
    },
]
chains = {
    metric.name: RagasEvaluatorChain(metric=metric) for metric in (faithfulness, context_precision, context_recall)
}
scores = {
    name: [row[f"{name}_score"] for row in chain.evaluate([{} for _ in results], results)]
    for name, chain in chains.items()
}
print(scores)
