"""The same score by hand, with ragas' own class, and by `evaluate`: python examples/by_hand.py [MODEL_FOLDER]"""

import asyncio
import sys

from langchain_huggingface import HuggingFacePipeline
from ragas.metrics.collections import Faithfulness

from rag_evaluator import RAGEvaluator
from rag_evaluator.demo import DEMO_JUDGE

pipeline = HuggingFacePipeline.from_model_id(
    sys.argv[1] if sys.argv[1:] else str(DEMO_JUDGE), task="text-generation", pipeline_kwargs={"max_new_tokens": 512}
)
row = {
    "user_input": "Where was Nolu Brak born?",
    "response": "Nolu Brak was born in Tesk.",
    "retrieved_contexts": ["Nolu Brak was born in Tesk in 1931."],
}
evaluator = RAGEvaluator({"metrics": ["faithfulness"]}, judge=pipeline)
by_hand = asyncio.run(Faithfulness(llm=evaluator.llm).ascore(**row))
by_evaluate = evaluator.evaluate([row]).scores["faithfulness"][0]
print(f"by hand {by_hand.value}, by evaluate {by_evaluate.value}")
assert by_hand.value == by_evaluate.value
