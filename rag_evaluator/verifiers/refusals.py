"""Whether a whole response refuses to answer: by the phrases of `counted.jsonl`."""

import re

from rag_evaluator.config import Language
from rag_evaluator.dataset import CODE, HEADER

from .counted import LONGEST_PHRASE, Sentence, phrases_of, plain_words, sentences_of

REFUSALS = 1  # of the phrases: raised where they change what is a refusal
REFUSAL = "refusal"
BRACKETS = re.compile(r"\s?[(（][\w.-]{1,12}[)）]")  # around a word, as of an abbreviation


def is_refusal(response: str, language: Language) -> bool:
    """Whether a response refuses to answer, and says nothing else.

    A refusal may cite, give a reason, or offer help. A response that answers in part is an answer. In a language that
    `counted.jsonl` does not have, nothing is a refusal.
    """
    whys = [_why(sentence, language) for sentence in sentences_of(response, language)]
    return REFUSAL in whys and not {"", CODE, HEADER} & set(whys)


def _why(sentence: Sentence, language: Language) -> str:
    """As `Sentence.why`; a refusal may have numbers and a reason. Empty: it says something."""
    phrases = phrases_of(language.name)
    if not sentence.counts or phrases is None or len(sentence.text) > LONGEST_PHRASE:
        return sentence.why
    text = plain_words(BRACKETS.sub("", sentence.text))
    return phrases.kind(phrases.asides.sub(" ", text))
