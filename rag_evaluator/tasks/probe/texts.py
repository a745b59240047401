"""Texts that the probes write, in the languages of the packs: evasive answers, ends of sentences, typographic signs."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rag_evaluator.languages import Language

EVASIVE: Mapping[str, str] = {
    "arabic": "هذا سؤال مهم، ولا يمكن الإجابة عنه بشكل عام لأن الأمر يعتمد على عوامل كثيرة.",
    "chinese": "这是一个有意思的问题，很难一概而论，要看具体情况而定。",
    "english": "That is an interesting question; it is hard to say in general, since it depends on many things.",
    "french": "C'est une question intéressante ; il est difficile d'y répondre de façon générale, car cela dépend de "
    "beaucoup de choses.",
    "german": "Das ist eine interessante Frage; allgemein lässt sich das schwer sagen, denn es hängt von vielen "
    "Dingen ab.",
    "hindi": "यह एक रोचक प्रश्न है; सामान्य रूप से कुछ कहना कठिन है, क्योंकि यह कई बातों पर निर्भर करता है।",
    "italian": "È una domanda interessante; è difficile dare una risposta generale, perché dipende da molte cose.",
    "japanese": "興味深い質問ですが、状況によって異なるため、一概には言えません。",
    "korean": "흥미로운 질문이지만, 여러 가지 상황에 따라 다르기 때문에 한마디로 말하기는 어렵습니다.",
    "portuguese": "É uma pergunta interessante; é difícil dar uma resposta geral, porque depende de muitas coisas.",
    "spanish": "Es una pregunta interesante; es difícil dar una respuesta general, porque depende de muchas cosas.",
}
"""Answers that say nothing, whatever was asked. They do not say that the answer is unknown."""
ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔", '."', ".”", "。」")
STOPS: Mapping[str, str] = {"chinese": "。", "japanese": "。", "hindi": "।"}
EAST_ASIAN = "\u2e80"  # the first sign of these scripts
LONGER = 4  # letters
QUOTES = str.maketrans({"'": "’", "’": "'", '"': "”", "“": '"', "”": '"', "„": '"'})


@lru_cache(maxsize=1 << 16)
def normalised(text: str) -> str:
    """Letters and digits in small letters, single spaces, digits of all scripts as 0 to 9: for comparing texts."""
    kept = map(_kept, unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(kept).split())


def _kept(sign: str) -> str:
    if sign.isdecimal():
        return str(unicodedata.digit(sign))
    return sign if sign.isalnum() or unicodedata.category(sign) in ("Mn", "Mc") else " "  # vowel signs of Hindi


def holds(text: str, part: str) -> bool:
    """Whether a text has a part; one in Latin letters or digits as whole words."""
    whole, piece = normalised(text), normalised(part)
    if not piece or piece not in whole:
        return False
    return not piece.isascii() or re.search(rf"(?<![a-z0-9]){re.escape(piece)}(?![a-z0-9])", whole) is not None


@lru_cache(maxsize=1 << 14)
def telling(text: str) -> frozenset[str]:
    """What tells a text from others: its numbers and longer words, or all if there are none of these.

    Of words in Chinese, Japanese and Korean each two signs that follow one another.
    """
    words = normalised(text).split()
    pairs = {
        word[place : place + 2] for word in words if word[0] >= EAST_ASIAN for place in range(max(1, len(word) - 1))
    }
    others = {word for word in words if word[0] < EAST_ASIAN}
    longer = {word for word in others if len(word) >= LONGER or word.isdecimal()}
    return frozenset(pairs | longer) or frozenset(others)


def shared(text: str, part: str) -> float:
    """The share of what tells a part that a text has, too, in [0, 1]; 0 for a part without words."""
    wanted = telling(part)
    return len(wanted & telling(text)) / len(wanted) if wanted else 0.0


def followed_by(text: str, addition: str, language: Language) -> str:
    """A text with another after it, the first one ended as a sentence."""
    text = text.rstrip()
    end = "" if text.endswith(ENDS) else STOPS.get(language.name, ".")
    return f"{text}{end}{' ' if language.spaced else ''}{addition}"


def written_otherwise(text: str) -> str:
    """The same text with other quotes and spaces; nothing that a reader would notice."""
    return "  ".join(text.translate(QUOTES).split(" ")) + " "
