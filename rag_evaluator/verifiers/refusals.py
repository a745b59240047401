"""Whether a whole response refuses to answer: by the words of `refusals.jsonl` that stand near each other."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain

from rag_evaluator.config import Language
from rag_evaluator.dataset import CODE, HEADER
from rag_evaluator.resources import PACKAGE

from .counted import AROUND, alike, plain_words, sentences_of

REFUSALS = 1  # of the words and rules: raised where they change what is a refusal
REFUSAL = "refusal"
ASIDE = "aside"  # neither refuses nor says anything of the world
CLAIM = "claim"
TOGETHER = (("documents", "tell"), ("speaker", "know"), ("info", "exist"))  # near a negation they refuse
NEAR = 70  # characters on either side of a negation
UNSPACED = {"chinese": 25, "japanese": 40, "korean": 40}  # languages whose words have no edges, and what is near there
QUOTED = re.compile(r"[\"“«「『„][^\"”»」』“]*[\"”»」』“]")
BRACKETS = re.compile(r"\s?[(（][^()（）]*[)）]")
SIGN = re.compile(r"[^\w\s'\u0900-\u0963]")
LABEL = re.compile(r"^(?:\S+ ){1,3}[:：] ")  # before what is said
DIVIDED = "¦"
Patterns = Mapping[str, re.Pattern[str]]


def is_refusal(response: str, language: Language) -> bool:
    """Whether a response refuses to answer, and says nothing else.

    A refusal may cite, give a reason, say what the documents are about, give advice, or offer help. A response that
    answers in part is an answer. In a language that `refusals.jsonl` does not have, nothing is a refusal.
    """
    patterns = _patterns(language.name)
    if not patterns:
        return False
    kinds = list[str]()
    for sentence in sentences_of(response, language):
        if sentence.counts or sentence.why == REFUSAL:
            kinds += _kinds(sentence.text, patterns, language.name, REFUSAL in kinds)
        else:
            kinds.append(CLAIM if sentence.why in (CODE, HEADER) else ASIDE)
    return REFUSAL in kinds and CLAIM not in kinds


def _kinds(sentence: str, patterns: Patterns, language: str, follows: bool) -> Iterator[str]:
    """Of each part of a sentence; words that turn it (but, so) stand between two."""
    text = BRACKETS.sub("", QUOTED.sub(" ", sentence) if QUOTED.sub("", sentence).strip(" .") else sentence)
    words = " ".join(SIGN.sub(r" \g<0> ", plain_words(text)).split())
    if "yields" in patterns:
        words = re.sub(rf"({patterns['yields'].pattern}[^,،，]*)[,،，]", rf"\1 {DIVIDED} ", words)
    for part in chain.from_iterable(map(patterns["turns"].split, LABEL.sub("", words).split(DIVIDED))):
        if any(map(str.isalnum, part)):
            kind = _kind(part.strip(AROUND), patterns, UNSPACED.get(language, NEAR), follows)
            follows |= kind == REFUSAL
            yield kind


def _kind(part: str, patterns: Patterns, near: int, follows: bool) -> str:
    others = patterns["others"].search(part)
    ours = patterns["ours"].search(part)
    is_ours = others is None or (ours is not None and ours.start() < others.start())
    if is_ours and (patterns["refuses"].search(part) or _refuses(part, patterns, near)):
        return REFUSAL
    is_topic = patterns["about"].search(part) and (
        patterns["documents"].search(part) or (follows and not any(map(str.isdigit, part)))
    )
    return ASIDE if is_topic or patterns["asides"].search(part) else CLAIM


def _refuses(part: str, patterns: Patterns, near: int) -> bool:
    """Whether a negation has the words of a pair near it, with none of `between` between them."""
    for clause in patterns["between"].split(part):
        for match in patterns["not"].finditer(clause):
            window = clause[max(0, match.start() - near) : match.end() + near]
            if any(all(patterns[kind].search(window) for kind in pair) for pair in TOGETHER):
                return True
    return False


@cache
def _patterns(language: str) -> Patterns:
    """kind -> its words as one pattern; empty where the language has none."""
    rows = _rows().get(language, {})
    edges = ("", "") if language in UNSPACED else (r"(?<![^\s'])", r"(?!\S)")
    rows = rows and {**rows, "ours": f"{rows['documents']}|{rows['speaker']}"}
    names = {f"{{{kind}}}": f"(?:{words})" for kind, words in rows.items()}

    def filled(words: str) -> str:
        for name, others in names.items():
            words = words.replace(name, others)
        return words

    return {kind: re.compile(f"{edges[0]}(?:{filled(filled(words))}){edges[1]}") for kind, words in rows.items() if words}


@cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    """language -> kind -> alternatives, from `refusals.jsonl`: regular expressions in small letters.

    Kinds: `documents`, `speaker` and `info` (what is asked for), with `tell`, `know` and `exist`, what these do or do
    not; `not`, negations; `between`, what divides two clauses; `refuses`, what refuses alone; `turns`, what a claim may
    follow; `yields`, that begin a clause before a comma; `others`, who else may not know; `about`, what only names a topic of documents; `asides`.
    """
    rows: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in (PACKAGE / "verifiers" / "refusals.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["language"]][row["kind"]] = alike("|".join(row["patterns"]))
    return rows
