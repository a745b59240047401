"""The kinds of questions: one row each, naming the prompt that makes it and where its contexts come from."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Kind:
    """A kind of question.

    Attributes:
        prompt: attribute of the prompt that makes it.
        contexts: one chunk; a second one of the same document; or of another, as near as there is one.
        about: one line of meaning.
        answerable: whether the documents hold the answer.
    """

    prompt: str
    contexts: Literal["one", "same document", "other document"]
    about: str
    answerable: bool = True


KINDS: Mapping[str, Kind] = {
    "single_fact": Kind("single_fact_prompt", "one", "one fact of one chunk"),
    "reasoning": Kind("reasoning_prompt", "one", "what follows from two facts of a chunk"),
    "several_chunks": Kind("several_chunks_prompt", "same document", "facts of two chunks of one document"),
    "across_documents": Kind("across_documents_prompt", "other document", "facts of two documents that are connected"),
    "comparison": Kind("comparison_prompt", "other document", "how things of two documents differ"),
    "list": Kind("list_prompt", "one", "all of several things that a chunk names"),
    "unanswerable": Kind("unanswerable_prompt", "one", "what a chunk nearly tells, and does not", answerable=False),
    "false_premise": Kind("false_premise_prompt", "one", "takes for granted what a chunk contradicts"),
}


def in_turn(shares: Mapping[str, float]) -> Iterator[str]:
    """Kinds without end, so that any first n of them have the shares as nearly as n allows."""
    given = dict.fromkeys(shares, 0)
    total = sum(shares.values())
    for count in itertools.count(1):
        kind = max(given, key=lambda name: shares[name] / total * count - given[name])
        given[kind] += 1
        yield kind
