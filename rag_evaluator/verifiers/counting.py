"""The free baseline: how many of a sentence's words the evidence has.

`stop_words.jsonl` has the function words that do not count: articles, pronouns, prepositions, conjunctions, auxiliary
verbs, particles. They were written by hand for this project in November 2026. No list was copied; they have the licence
of the project (Apache-2.0). No native speaker has reviewed them. They are stored
as `words` writes them; of Chinese and Japanese single letters, and a pair of these does not count; of Korean pairs.
"""

import json
import math
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from rag_evaluator.config import BY_WORDS, IN_DENSE, find_language, grams, words
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.files import short_digest
from rag_evaluator.resources import PACKAGE

from .batches import rounded
from .evidence import Evidence, Limit
from .verifier import UNLIMITED, Support

VERSION = 1  # of `share_of_words`; part of the signature
PAIR = 2  # letters; Han, kana and Hangul are compared by pairs, as `metrics.work_checks` compares them with a row


def share_of_words(sentence: str, evidence: str, stop_words: Collection[str]) -> float:
    """Return the share of the content words of a sentence that the evidence has, [0, 1], higher is better.

    Each word counts once. NaN: the sentence has no content word. It is the unigram precision of a summary that ROUGE-1
    (Lin 2004) has, without stop words and repetitions.
    """
    content = {word for word in words_of(sentence) if not _is_stop(word, stop_words)}
    return len(content.intersection(words_of(evidence))) / len(content) if content else math.nan


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, without accents; of Han, kana and Hangul the pairs of letters.

    A letter of these scripts that stands alone is left out.
    """
    parts = [part for part in words(text).casefold().split() if len(part) >= PAIR or not IN_DENSE.match(part)]
    return [word for part in parts for word in (grams(part, PAIR) if IN_DENSE.match(part) else [part])]


def _is_stop(word: str, stop_words: Collection[str]) -> bool:
    return word in stop_words or (bool(IN_DENSE.match(word)) and all(letter in stop_words for letter in word))


class StopWords(NamedTuple):
    """The stop words of a language; none where the table does not have it."""

    language: str
    words: frozenset[str]

    @classmethod
    @cache
    def of(cls, language: str) -> "StopWords":
        """Read the row of a language in `stop_words.jsonl`."""
        lines = (PACKAGE / "verifiers" / "stop_words.jsonl").read_text(encoding="utf-8").splitlines()
        return next((row for row in map(cls._row, lines) if row.language == language), cls(language, frozenset()))

    @classmethod
    def _row(cls, line: str) -> "StopWords":
        row = json.loads(line)
        return cls(row["language"], frozenset(row["words"].split()))


class WordCounter:
    """The baseline as a verifier: the share of a sentence's words stands in the place of a probability.

    It counts words; it does not read. "Not" changes nothing, and the right words in the wrong order have 1.

    Args:
        language: of the texts, which says what a stop word is.
        each: look at each context alone, as `Verifier` does; else all are one piece.
    """

    def __init__(self, language: str, each: bool = False) -> None:
        self.language = find_language(language)
        self.each = each
        self.stop_words = StopWords.of(self.language.name).words

    @property
    def note(self) -> str:
        """What a user should know of the language; empty where there are stop words."""
        name = self.language.name
        return "" if self.stop_words else f"verifier.model {BY_WORDS} has no stop words for {name}: all words count."

    @property
    def signature_parts(self) -> dict[str, str]:
        """Return what its shares depend on beside texts and language, by name."""
        table = short_digest(" ".join(sorted(self.stop_words)))
        return {
            "verifier": f"{BY_WORDS}-{VERSION}-{table}",
            "kind": BY_WORDS,
            "evidence": "each" if self.each else "packed",
        }

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        """Return the share of each sentence's words, as `VerifierProtocol.supports` has it; the question is not used.

        Raises `UndefinedScoreError` for a sentence without a content word, and where there is no evidence.
        """
        evidence = Evidence(contexts, lambda texts: [0] * len(texts), self.language, self.each)
        pieces = evidence.pieces(Limit(UNLIMITED, UNLIMITED))
        if not pieces:
            raise UndefinedScoreError("there is no evidence")
        shares = [[share_of_words(text, piece.text, self.stop_words) for piece in pieces] for text in hypotheses]
        for text, (share, *_) in zip(hypotheses, shares, strict=True):
            if math.isnan(share):
                raise UndefinedScoreError(f"a sentence has no content word to count: {text:.60}")
        return [Support.of([rounded(share) for share in row], pieces) for row in shares]
