"""ragas 0.2: one `SingleTurnSample` at a time."""

import asyncio

from local_models import llm
from rag_evaluator.ragas.dataset_schema import SingleTurnSample

from rag_evaluator.ragas.metrics import Faithfulness, LLMContextRecall

sample = SingleTurnSample(
    user_input="Where was Nolu Brak born?",
    retrieved_contexts=["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
    response="Nolu Brak was born in Tesk.",
    reference="He was born in Tesk. He died in Harn.",
)


async def main():
    faithfulness = Faithfulness(llm=llm)
    recall = LLMContextRecall(llm=llm)
    return {
        "faithfulness": [await faithfulness.single_turn_ascore(sample)],
        "context_recall": [await recall.single_turn_ascore(sample)],
    }


scores = asyncio.run(main())
print(scores)
