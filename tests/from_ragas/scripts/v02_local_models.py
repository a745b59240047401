"""ragas 0.2: a local model in `HuggingFacePipeline`, embeddings, both in ragas' wrappers; six metrics; a JSONL file."""

import json
import os
import tempfile
from pathlib import Path

from langchain_huggingface import HuggingFaceEmbeddings, HuggingFacePipeline

from rag_evaluator.ragas import EvaluationDataset, evaluate
from rag_evaluator.ragas.embeddings import LangchainEmbeddingsWrapper
from rag_evaluator.ragas.llms import LangchainLLMWrapper
from rag_evaluator.ragas.metrics import (
    ContextRelevance,
    Faithfulness,
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    LLMContextRecall,
    ResponseRelevancy,
)

rows = [
    {
        "user_input": "Where was Nolu Brak born?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
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
path = Path(tempfile.mkdtemp()) / "dataset.jsonl"
path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class Evaluator:
    def __init__(self):
        pipeline = HuggingFacePipeline.from_model_id(
            os.environ["JUDGE_MODEL"], task="text-generation", pipeline_kwargs={"max_new_tokens": 512}
        )
        self.llm = LangchainLLMWrapper(pipeline)
        self.embeddings = LangchainEmbeddingsWrapper(HuggingFaceEmbeddings(model_name=os.environ["EMBEDDING_MODEL"]))
        self.metrics = [
            LLMContextPrecisionWithReference(llm=self.llm),
            LLMContextPrecisionWithoutReference(llm=self.llm),
            LLMContextRecall(llm=self.llm),
            Faithfulness(llm=self.llm),
            ResponseRelevancy(llm=self.llm, embeddings=self.embeddings),
            ContextRelevance(llm=self.llm),
        ]

    def evaluate(self, path):
        return evaluate(dataset=EvaluationDataset.from_jsonl(path), metrics=self.metrics, batch_size=4)


result = Evaluator().evaluate(path)
result.to_pandas().to_csv(path.with_suffix(".csv"), index=False)
print(result)
