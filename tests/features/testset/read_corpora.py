"""The corpus that `testset make` reads, without a judge: more questions are wanted than there are chunks."""

import json
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from rag_evaluator.cli.main import main


@dataclass(frozen=True)
class ReadCorpus:
    """What was read.

    Attributes:
        chunks: lines of `chunks.jsonl`.
        unread: id of what could not be read -> the reason.
        error: what the command says.
    """

    chunks: list[dict[str, Any]]
    unread: dict[str, str]
    error: str

    @property
    def texts(self) -> dict[str, str]:
        """Document -> its text, of short ones."""
        return {chunk["document"]: chunk["text"] for chunk in self.chunks}


def read_corpus(project: Path, *documents: Path, **keys: Any) -> ReadCorpus:
    """Read documents into the results of a project; `keys` of `testset`."""
    project.mkdir(exist_ok=True)
    config = project / "config.yaml"
    config.write_text(f"metrics: [faithfulness]\nname: run\ntestset: {json.dumps(keys)}\n", "utf-8")
    error = StringIO()
    with redirect_stderr(error):
        code = main(["testset", "make", str(config), "--documents", *map(str, documents), "--size", "100000"])
    assert code == 2
    corpus = project / "results" / "run" / "corpus"
    if not (corpus / "corpus.json").exists():
        return ReadCorpus([], {}, error.getvalue())
    chunks = [json.loads(line) for line in (corpus / "chunks.jsonl").read_text("utf-8").splitlines()]
    unread = {entry["id"]: entry["reason"] for entry in json.loads((corpus / "corpus.json").read_bytes())["unread"]}
    return ReadCorpus(chunks, unread, error.getvalue())
