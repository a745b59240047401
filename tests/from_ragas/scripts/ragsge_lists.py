"""RagSGE: order contexts, write references, score answers that are in lists."""

from local_models import embeddings, llm

from rag_evaluator import evaluate, generate, sort

questions = ["Where was Nolu Brak born?", "What is Harn known for?"]
contexts = [
    ["Tesk lies on the river Om.", "Nolu Brak was born in Tesk."],
    ["The Harn bridge has three arches.", "Harn is old."],
]
answers = ["In Tesk.", "For its lake."]

order = sort(questions, contexts, judge=llm)
ground_truth = generate(questions, contexts, judge=llm)
scores = evaluate(questions, contexts, answers, ground_truth, judge=llm, embeddings=embeddings)
print(order, scores)
