"""Whether a whole response refuses to answer: by the words of `refusals.jsonl` that stand near each other."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from rag_evaluator.config import Language
from rag_evaluator.dataset import CODE, HEADER
from rag_evaluator.resources import PACKAGE

from .counted import AROUND, alike, plain_words, sentences_of

REFUSALS = 2  # of the words and rules: raised where they change what is a refusal
REFUSAL = "refusal"
ASIDE = "aside"  # it neither refuses nor says anything of the world
CLAIM = "claim"
NEAR = 70  # characters on either side of a negation
UNSPACED = {"chinese": 25, "japanese": 40, "korean": 40}  # languages whose words have no edges, and what is near there
SHORT = 3  # a part that is so many times shorter than what is near may be an apology
QUOTED = re.compile(r"[\"“«「『„][^\"”»」』“]*[\"”»」』“]")
BRACKETS = re.compile(r"\s?[(（][^()（）]*[)）]")
SIGN = re.compile(r"[^\w\s'\u0900-\u0963]")
LABEL = re.compile(r"^(?:\S+ ){1,3}[:：] ")  # before what is said
CUT = "¦"
GIVEN = "❝"  # stands for what was in quotation marks
ASKED = re.compile(r"(?s).*[,،，、\U00002600-\U000027BF\U0001F000-\U0001FAFF]")  # what stands before a question in a sentence
COMMA = re.compile(" [,،，、] ")


@lru_cache(1024)
def is_refusal(response: str, language: Language) -> bool:
    """Whether a response refuses to answer, and says nothing else.

    A refusal may cite, give a reason, say what the documents are about, give advice, or offer help. A response that
    answers in part is an answer. In a language that `refusals.jsonl` does not have, nothing is a refusal.
    """
    words = _words(language.name)
    if words is None:
        return False
    refused = False
    before = ""
    for sentence in sentences_of(response, language):
        if sentence.why in (CODE, HEADER):
            return False
        begins = refused
        asks = sentence.why == "question"
        text = "".join(ASKED.findall(sentence.text)) if asks else sentence.text
        for part in words.parts(text) if asks or sentence.counts or sentence.why == REFUSAL else ():
            if any(map(str.isalnum, part)):
                kind = words.kind(part, before, refused, begins)
                if kind == CLAIM and not asks:
                    return False
                refused |= kind == REFUSAL
                before += part
            begins = False
    return refused


@dataclass(frozen=True)
class Words:
    """The words of a language.

    Attributes:
        kinds: kind -> its words as one pattern, see `_rows`.
        near: how many characters on either side of a negation are near it.
    """

    kinds: Mapping[str, re.Pattern[str]]
    near: int

    def parts(self, sentence: str) -> Iterator[str]:
        """The parts of a sentence; words that turn it (but, so) stand between two."""
        unquoted = QUOTED.sub(f" {GIVEN} ", sentence)
        text = BRACKETS.sub("", unquoted if any(map(str.isalnum, unquoted)) else sentence)
        words = " ".join(SIGN.sub(r" \g<0> ", plain_words(text)).split())
        if "yields" in self.kinds:
            words = re.sub(rf"({self.kinds['yields'].pattern}[^,،，]*)[,،，]", rf"\1 {CUT} ", words)
        parts = map(self.kinds["turns"].split, LABEL.sub("", words).split(CUT))
        return (part.strip(AROUND) for part in chain.from_iterable(parts))

    def kind(self, part: str, before: str, follows: bool, begins: bool) -> str:
        """Whether a part refuses, claims something, or neither.

        Args:
            before: what the response says before it.
            follows: whether that has refused.
            begins: whether it has refused, and the part begins a sentence.
        """
        has = {kind for kind, pattern in self.kinds.items() if pattern.search(part)}
        is_bare = not any(map(str.isdigit, part)) and GIVEN not in part and "values" not in has
        own = self.kinds["sources"].sub(" ", part)
        goes_on = follows and not begins
        is_answer = goes_on and "answers" in has
        refuses = self.kinds["refuses"].search(own) or (not is_answer and self._refuses(own, before, follows))
        if refuses and not self._is_of_others(own):
            return CLAIM if self._answers(part) else REFUSAL
        if "sources" in has or is_answer or (goes_on and not is_bare):
            return CLAIM
        is_subject = "documents" in has or ("tell" in has and self.kinds["about"].match(part) is not None)
        is_told = not follows and is_subject and not has & {"between", "answers"}
        is_topic = is_bare and (is_told or ("about" in has and ("documents" in has or follows)))
        is_about_us = bool(has & {"documents", "speaker"})
        is_rest = begins and is_bare and "between" not in has and (is_about_us or "know" in has)
        is_short = SHORT * len(part) <= self.near
        is_aside = "asides" in has and (follows or is_short or is_about_us)
        return ASIDE if is_topic or is_rest or is_aside else CLAIM

    def _answers(self, part: str) -> bool:
        """Whether a refusal goes on behind a comma with what answers."""
        end = COMMA.split(part)[-1]
        excuses = ("not", "documents", "speaker", "asides")
        if end == part or self.kinds["asked"].match(end) or any(self.kinds[kind].search(end) for kind in excuses):
            return False
        return any(map(str.isdigit, end)) or any(self.kinds[kind].search(end) for kind in ("values", "answers"))

    def _is_of_others(self, part: str) -> bool:
        """Whether somebody else does not know or tell: named before documents and speaker."""
        others = self.kinds["others"].search(part)
        ours = [match.start() for kind in ("documents", "speaker", "refuses") if (match := self.kinds[kind].search(part))]
        return others is not None and others.start() <= min(ours, default=others.start())

    def _refuses(self, part: str, before: str, follows: bool) -> bool:
        """Whether a negation has near it what documents tell, the speaker knows or there is to find."""
        pairs = [("speaker", "know"), ("info", "exist")]
        if self.kinds["documents"].search(f"{before} {part}"):
            pairs.append(("not", "tell"))
        if follows and self.kinds["not"].match(part):  # who knows stands before it
            pairs.append(("not", "know"))
        for clause in self.kinds["between"].split(part):
            for match in self.kinds["not"].finditer(clause):
                window = clause[max(0, match.start() - self.near) : match.end() + self.near]
                if any(all(self.kinds[kind].search(window) for kind in pair) for pair in pairs):
                    return True
        return False


@cache
def _words(language: str) -> Words | None:
    """The words of a language, by its name; None where none are known."""
    rows = _rows().get(language)
    if rows is None:
        return None
    edges = ("", "") if language in UNSPACED else (r"(?<![^\s'])", r"(?!\S)")

    def pattern(words: str) -> re.Pattern[str]:
        for kind in ("about", "speaker", "documents"):  # the first may name the others
            words = words.replace(f"{{{kind}}}", f"(?:{rows[kind]})")
        return re.compile(f"{edges[0]}(?:{words}){edges[1]}")

    return Words({kind: pattern(words) for kind, words in rows.items() if words}, UNSPACED.get(language, NEAR))


@cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    """language -> kind -> alternatives, from `refusals.jsonl`: regular expressions in small letters.

    Kinds: `documents`, `speaker` and `info` (what is asked for), with `tell`, `know` and `exist`, what these do or do
    not; `not`, negations; `between`, what divides two clauses; `refuses`, what refuses alone; `turns`, what a claim may
    follow; `yields`, that begin a clause before a comma; `others`, who else may not know, or does not know for sure;
    `about`, what only names a topic of documents; `asides`: advice, apologies, offers.
    """
    rows: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in (PACKAGE / "verifiers" / "refusals.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["language"]][row["kind"]] = alike("|".join(row["patterns"]))
    return rows
