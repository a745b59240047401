"""ragas 0.4: metrics of `metrics.collections`, scored by `ascore` and `abatch_score`."""

import asyncio

from local_models import embeddings, llm

from rag_evaluator.ragas.metrics.collections import ContextRecall, Faithfulness, SemanticSimilarity

contexts = ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."]


async def main():
    faithful = await Faithfulness(llm=llm).ascore(
        user_input="Where was Nolu Brak born?", response="Nolu Brak was born in Tesk.", retrieved_contexts=contexts
    )
    recall = await ContextRecall(llm=llm).abatch_score(
        [
            {"user_input": "Where was he born?", "retrieved_contexts": contexts, "reference": "He was born in Tesk."},
            {"user_input": "Where did he die?", "retrieved_contexts": contexts, "reference": "He died in Harn."},
        ]
    )
    similar = SemanticSimilarity(embeddings=embeddings).score(response="In Tesk.", reference="He was born in Tesk.")
    return {
        "faithfulness": [faithful.value],
        "context_recall": [result.value for result in recall],
        "semantic_similarity": [similar.value],
    }


scores = asyncio.run(main())
print(scores)
