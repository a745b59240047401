"""ragas 0.2: criteria and rubrics of one's own."""

from local_models import llm

from rag_evaluator.ragas import EvaluationDataset, SingleTurnSample, evaluate
from rag_evaluator.ragas.metrics import AspectCritic, RubricsScore

polite = AspectCritic(name="polite", definition="Is the response polite?", llm=llm)
rubrics = {
    "score1_description": "The response is wrong.",
    "score2_description": "The response is partly right.",
    "score3_description": "The response is right.",
}
dataset = EvaluationDataset(
    samples=[
        SingleTurnSample(user_input="Where was Nolu Brak born?", response="In Tesk, my friend."),
        SingleTurnSample(user_input="What is Harn known for?", response="Look it up."),
    ]
)
result = evaluate(dataset, metrics=[polite, RubricsScore(rubrics=rubrics, llm=llm)], llm=llm)
print(result.to_pandas())
