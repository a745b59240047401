"""The section `testset` of the configuration."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from rag_evaluator.config import FullPath, Number, Section

SHARES: Mapping[str, float] = {
    "single_fact": 0.3,
    "reasoning": 0.15,
    "several_chunks": 0.15,
    "across_documents": 0.1,
    "comparison": 0.05,
    "list": 0.1,
    "unanswerable": 0.1,
    "false_premise": 0.05,
}
"""Kind of question -> its share of the candidates; `docs/testset.md` says what they are."""
Share = Annotated[Number, Field(ge=0, allow_inf_nan=False)]
FilterName = Literal["language", "not_copied", "answerable", "not_known", "names_document", "not_duplicate"]


def _known_kinds(shares: dict[str, float]) -> dict[str, float]:
    for kind in shares:
        if kind not in SHARES:
            raise ValueError(f"'{kind}' is no kind of question: expected some of {', '.join(SHARES)}")
    if not any(shares.values()):
        raise ValueError("all shares are 0: expected a kind of which there are to be questions")
    return shares


class TestsetConfig(Section):
    """How `testset make` makes a test set.

    Attributes:
        documents: files and folders.
        text_column: of documents in tables.
        size: questions wanted.
        candidates: questions that are made to choose from; None: twice the size.
        kinds: kind -> share of the candidates.
        chunk_tokens: of a chunk at most, in tokens of the embedding model.
        neighbours: chunks near a question that are asked whether they support its answer, and distractors.
        filters: those that are applied.
        keep_hard: keep questions that the judge cannot answer among similar chunks.
        seed: of the choice of chunks.
    """

    __test__ = False  # for pytest, which looks for classes of this name

    documents: list[FullPath] = Field(default_factory=list)
    text_column: str | None = None
    size: int = Field(default=100, ge=1)
    candidates: int | None = Field(default=None, ge=1)
    kinds: Annotated[dict[str, Share], AfterValidator(_known_kinds)] = Field(default_factory=lambda: dict(SHARES))
    chunk_tokens: int = Field(default=256, ge=16)
    neighbours: int = Field(default=10, ge=1)
    filters: list[FilterName] = Field(default_factory=lambda: list(get_args(FilterName)))
    keep_hard: bool = False
    seed: int = Field(default=0, ge=0)
