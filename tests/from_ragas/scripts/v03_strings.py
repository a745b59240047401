"""ragas 0.3: metrics that ask no model, a frame."""

import pandas as pd

from rag_evaluator.ragas import EvaluationDataset, evaluate
from rag_evaluator.ragas.metrics import BleuScore, ExactMatch, NonLLMStringSimilarity, RougeScore, StringPresence

frame = pd.DataFrame(
    {
        "response": ["Nolu Brak was born in Tesk.", "For its bridge."],
        "reference": ["He was born in Tesk.", "For its bridge."],
    }
)
metrics = [BleuScore(), RougeScore(), ExactMatch(), StringPresence(), NonLLMStringSimilarity()]
result = evaluate(EvaluationDataset.from_pandas(frame), metrics=metrics, show_progress=False)
print(result)
