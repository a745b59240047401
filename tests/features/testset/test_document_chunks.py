"""Chunks are what lies between their offsets, in order, within the limit, and known wherever the corpus lies."""

import itertools
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from rag_evaluator import DatasetError
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.features.testset.corpus import CHUNKS, Document, chunks_of, read_corpus, splitter_of, write_corpus

TOKENS = 40
TEXT = (
    """# Río

Nace en Tesk. 他出生于一座小城市。

## Puentes

El puente de Arlen mide 412 metros.

```
# no heading
```

### Nuevos
Hay dos 😀 más.

# Mar
"""
    + "El mar es grande y azul. " * 30
)


SPLITTER = splitter_of(DEMO_JUDGE / "tokenizer.json", TOKENS)


def test_chunks_are_the_text_between_their_offsets() -> None:
    tokenizer = Tokenizer.from_file(str(DEMO_JUDGE / "tokenizer.json"))
    chunks = list(chunks_of(Document("a", TEXT), SPLITTER))
    assert all(TEXT[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(len(tokenizer.encode(chunk.text, add_special_tokens=False)) <= TOKENS for chunk in chunks)
    assert all(first.end <= second.start for first, second in itertools.pairwise(chunks))
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(TEXT.split())


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Nace en", ("Río",)),
        ("El puente", ("Río", "Puentes")),
        ("Hay dos", ("Río", "Puentes", "Nuevos")),
        ("azul. El mar es grande", ("Mar",)),
    ],
)
def test_a_chunk_has_the_headings_that_it_is_under(text: str, headings: tuple[str, ...]) -> None:
    place = TEXT.index(text)
    (chunk,) = (chunk for chunk in chunks_of(Document("a", TEXT), SPLITTER) if chunk.start <= place < chunk.end)
    assert chunk.headings == headings


def test_a_corpus_is_read_as_it_was_written_and_refused_if_it_was_changed(tmp_path: Path) -> None:
    first = Document("a", TEXT)
    last = Document("c", "fin")
    corpus = write_corpus(tmp_path, [first, Document("b", unread="why"), last], SPLITTER)
    assert corpus.chunks == [*chunks_of(first, SPLITTER), *chunks_of(last, SPLITTER)]
    assert (corpus.documents, corpus.unread) == (2, [{"id": "b", "reason": "why"}])
    assert read_corpus(tmp_path) == corpus
    with (tmp_path / CHUNKS).open("a") as file:
        file.write("{}\n")
    with pytest.raises(DatasetError, match="not as it was written"):
        read_corpus(tmp_path)


def test_ids_of_chunks_do_not_depend_on_the_rest_of_the_corpus(tmp_path: Path) -> None:
    first = write_corpus(tmp_path / "1", [Document("a", TEXT)], SPLITTER)
    second = write_corpus(tmp_path / "2", [Document("z", "zzz"), Document("a", TEXT)], SPLITTER)
    assert [chunk.id for chunk in first.chunks] == [chunk.id for chunk in second.chunks if chunk.document == "a"]
    assert len({chunk.id for chunk in first.chunks}) == len(first.chunks)


def test_a_corpus_without_text_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no document with text in it: 1 could not be read.\n  b: why"):
        write_corpus(tmp_path, [Document("b", unread="why")], SPLITTER)
