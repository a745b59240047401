"""Evidence is cut into pieces at sentences; nothing is lost, and each text is counted once."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluator.config import find_language
from rag_evaluator.verifiers import Evidence, EvidencePiece, Limit

ENGLISH = find_language("english")


def words(texts: Sequence[str]) -> list[int]:
    """Stands in for the tokens of texts."""
    return [len(text.split()) for text in texts]


def pieces(contexts: Sequence[str], tokens: int, each: bool = False) -> list[EvidencePiece]:
    return Evidence(contexts, words, ENGLISH, each).pieces(Limit(tokens, 1000))


def test_contexts_are_packed_in_their_order() -> None:
    contexts = ["Harn is old. It has a bridge.", "Tesk is new."]
    assert pieces(contexts, 11) == [EvidencePiece("Harn is old. It has a bridge.\nTesk is new.", (0, 1))]
    assert pieces(contexts, 8) == [
        EvidencePiece("Harn is old. It has a bridge.", (0,)),
        EvidencePiece("Tesk is new.", (1,)),
    ]
    assert pieces(contexts, 100, each=True) == pieces(contexts, 8)
    assert [piece.text for piece in pieces(contexts, 4)] == ["Harn is old.", "It has a bridge.", "Tesk is new."]


def test_words_are_limited_as_tokens_are() -> None:
    evidence = Evidence(["Harn is old. It has a bridge."], lambda texts: [1 for _ in texts], ENGLISH)
    assert len(evidence.pieces(Limit(100, 7))) == 1
    assert len(evidence.pieces(Limit(100, 6))) == 2


def test_a_text_with_more_tokens_than_its_sentences_is_divided() -> None:
    def more_together(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + (2 if text.count(".") > 1 else 0) for text in texts]

    evidence = Evidence(["Harn is old. It has a bridge."], more_together, ENGLISH)
    assert [piece.text for piece in evidence.pieces(Limit(7, 1000))] == ["Harn is old.", "It has a bridge."]


CONTEXTS = st.lists(st.text(st.sampled_from("ab. \n。x!"), max_size=60), min_size=1, max_size=4)


@given(CONTEXTS, st.integers(min_value=1, max_value=8), st.booleans())
def test_nothing_of_the_evidence_is_lost(contexts: list[str], tokens: int, each: bool) -> None:
    made = pieces(contexts, tokens, each)
    assert "".join("".join(piece.text for piece in made).split()) == "".join("".join(contexts).split())
    assert all(len(piece.text.split()) <= tokens for piece in made)
    assert [place for piece in made for place in piece.contexts] == sorted(
        place for piece in made for place in piece.contexts
    )
    assert not each or all(len(piece.contexts) == 1 for piece in made)
