"""A small RAG chain that answers the questions of a test set: python chain.py testset.jsonl rows.jsonl."""

import json
import sys
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_huggingface import HuggingFaceEmbeddings, HuggingFacePipeline

from rag_evaluator import collect
from rag_evaluator.demo import DEMO_JUDGE, demo_embeddings

HERE = Path(__file__).parent
PROMPT = PromptTemplate.from_template("{context}\n\nQuestion: {question}\nAnswer:")


def make_chain():
    """A retriever of two paragraphs, and a generator that sees them; put your own models here."""
    paragraphs = [
        Document(paragraph, metadata={"source": path.name})
        for path in sorted((HERE / "documents").glob("*.md"))
        for paragraph in path.read_text(encoding="utf-8").strip().split("\n\n")[1:]
    ]
    embeddings = HuggingFaceEmbeddings(model_name=str(demo_embeddings()))
    retriever = InMemoryVectorStore.from_documents(paragraphs, embeddings).as_retriever(search_kwargs={"k": 2})
    generator = HuggingFacePipeline.from_model_id(
        str(DEMO_JUDGE), "text-generation", pipeline_kwargs={"max_new_tokens": 24, "return_full_text": False}
    )
    answer = PROMPT | generator | StrOutputParser()
    return RunnableParallel(context=retriever, question=RunnablePassthrough()).assign(answer=answer)


def main(testset, rows):
    """Ask every question of the test set, and add the answers and the retrieved contexts to its rows."""
    wanted = [json.loads(line) for line in Path(testset).read_text(encoding="utf-8").splitlines()]
    answered = collect(make_chain(), [row["user_input"] for row in wanted], HERE / "answers.jsonl")
    lines = [json.dumps({**answer, **row}, ensure_ascii=False) for answer, row in zip(answered, wanted, strict=True)]
    Path(rows).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
