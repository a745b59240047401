"""Chunks are what lies between their offsets, in order, within the limit, and known wherever the corpus lies."""

import itertools
from pathlib import Path

import pytest
from aliases import Json
from tokenizers import Tokenizer

from rag_evaluator.demo import demo_embeddings
from tests.features.testset.read_corpora import read_corpus

TOKENS = 20
TOKENIZER = Path(demo_embeddings()) / "tokenizer.json"
TEXT = (
    """# Río

Nace en Tesk. 他出生于一座小城市。

## Puentes

El puente de Arlen mide 412 metros.

```
# no heading
```

### Nuevos
Hay dos 😀 más. Los puentes nuevos del norte son de piedra blanca y de hierro.

# Mar
"""
    + "El mar es grande y azul. " * 30
)


def chunks_of(project: Path, **texts: str) -> list[Json]:
    """The chunks of documents, by the tokens of the demo embeddings."""
    documents = project / "documents"
    documents.mkdir(parents=True)
    for name, text in texts.items():
        (documents / f"{name}.md").write_text(text, "utf-8")
    return read_corpus(project, documents, chunk_tokens=TOKENS).chunks


@pytest.fixture(scope="module")
def chunks(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    return chunks_of(tmp_path_factory.mktemp("corpus") / "project", a=TEXT)


def test_chunks_are_the_text_between_their_offsets(chunks: list[Json]) -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert all(TEXT[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)
    assert all(len(tokenizer.encode(chunk["text"], add_special_tokens=False)) <= TOKENS for chunk in chunks)
    assert all(first["end"] <= second["start"] for first, second in itertools.pairwise(chunks))
    assert "".join("".join(chunk["text"].split()) for chunk in chunks) == "".join(TEXT.split())


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Nace en", ["Río"]),
        ("El puente", ["Río", "Puentes"]),
        ("de hierro", ["Río", "Puentes", "Nuevos"]),
        ("azul. El mar es grande", ["Mar"]),
    ],
)
def test_a_chunk_has_the_headings_that_it_is_under(text: str, headings: list[str], chunks: list[Json]) -> None:
    place = TEXT.index(text)
    (chunk,) = (chunk for chunk in chunks if chunk["start"] <= place < chunk["end"])
    assert chunk["headings"] == headings


def test_a_corpus_that_was_changed_is_read_again(tmp_path: Path) -> None:
    made = chunks_of(tmp_path, a=TEXT, b="fin")
    with (tmp_path / "results" / "run" / "corpus" / "chunks.jsonl").open("a") as file:
        file.write("{}\n")
    assert read_corpus(tmp_path, tmp_path / "documents", chunk_tokens=TOKENS).chunks == made


def test_chunks_of_a_document_do_not_depend_on_the_rest_of_the_corpus(tmp_path: Path, chunks: list[Json]) -> None:
    others = chunks_of(tmp_path, a=TEXT, z="zzz")
    assert [chunk for chunk in others if chunk["document"] == "a.md"] == chunks
