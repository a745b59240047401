"""Whether a whole response refuses to answer: by the words of `refusals.jsonl` that stand near each other."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain

from rag_evaluator.config import Language
from rag_evaluator.dataset import CODE, HEADER
from rag_evaluator.resources import PACKAGE

from .counted import AROUND, alike, plain_words, sentences_of

REFUSALS = 3  # of the words and rules: raised where they change what is a refusal
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
# what stands before a question in a sentence
ASKED = re.compile(r"(?s).*[,،，、\U00002600-\U000027BF\U0001F000-\U0001FAFF]")
COMMA = re.compile(" [,،，、] ")
WORD = re.compile(r"\S+")
SEVERAL = re.compile(r"[ ^$]|\(\?[!=<]|{|\\S")  # in a pattern that is of more than one word
DOCUMENTS = "{documents}"
ONE_BY_ONE = tuple("documents speaker not tell know info exist about asides values answers asked".split())
LOOKED_FOR = (*ONE_BY_ONE, "between", "sources")
MOST_KNOWN = 50_000  # words of a language that are remembered


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
    of_documents = False
    for sentence in sentences_of(response, language):
        if sentence.why in (CODE, HEADER):
            return False
        begins = refused
        asks = sentence.why == "question"
        text = "".join(ASKED.findall(sentence.text)) if asks else sentence.text
        for part in words.parts(text) if asks or sentence.counts or sentence.why == REFUSAL else ():
            if any(map(str.isalnum, part)):
                has = words.has(part)
                kind = words.kind(part, has, of_documents, refused, begins)
                of_documents |= "documents" in has
                if kind == CLAIM and not asks:
                    return False
                refused |= kind == REFUSAL
            begins = False
    return refused


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a language.

    Attributes:
        kinds: kind -> its words as one pattern, see `_rows`; of `ONE_BY_ONE` those that are more than one word.
        single: kind of `ONE_BY_ONE` -> what one word matches.
        told: what stands behind documents where these do not tell.
        near: how many characters on either side of a negation are near it.
    """

    kinds: Mapping[str, re.Pattern[str]]
    single: Mapping[str, re.Pattern[str]]
    told: re.Pattern[str]
    near: int
    known: dict[str, frozenset[str]] = field(default_factory=dict)

    def parts(self, sentence: str) -> Iterator[str]:
        """The parts of a sentence; words that turn it (but, so) stand between two."""
        unquoted = QUOTED.sub(f" {GIVEN} ", sentence)
        text = BRACKETS.sub("", unquoted if any(map(str.isalnum, unquoted)) else sentence)
        words = " ".join(SIGN.sub(r" \g<0> ", plain_words(text)).split())
        if "yields" in self.kinds:
            words = re.sub(rf"({self.kinds['yields'].pattern}[^,،，]*)[,،，]", rf"\1 {CUT} ", words)
        parts = map(self.kinds["turns"].split, LABEL.sub("", words).split(CUT))
        return (part.strip(AROUND) for part in chain.from_iterable(parts))

    def kind(self, part: str, has: Set[str], of_documents: bool, follows: bool, begins: bool) -> str:
        """Whether a part refuses, claims something, or neither.

        Args:
            has: the kinds of words in it.
            of_documents: whether something before it names them.
            follows: whether the response has refused before it.
            begins: whether it has refused, and the part begins a sentence.
        """
        is_bare = not any(map(str.isdigit, part)) and GIVEN not in part and "values" not in has
        goes_on = follows and not begins
        is_answer = goes_on and "answers" in has
        own = self.kinds["sources"].sub(" ", part)
        pairs = [("speaker", "know"), ("info", "exist")]
        if of_documents or "documents" in (has if own == part else self.has(own)):
            pairs.append(("not", "tell"))
        if follows and "not" in self.has(own.partition(" ")[0]):  # who knows stands before it
            pairs.append(("not", "know"))
        refuses = self._is_told(own) or self.kinds["refuses"].search(own) is not None
        if (refuses or (not is_answer and self._refuses(own, pairs))) and not self._is_of_others(own):
            return CLAIM if self._answers(part) else REFUSAL
        if "sources" in has or is_answer or (goes_on and not is_bare):
            return CLAIM
        is_subject = "documents" in has or ("tell" in has and self._first("about", part) == 0)
        is_told = not follows and is_subject and not has & {"between", "answers"}
        is_topic = is_bare and (is_told or ("about" in has and ("documents" in has or follows)))
        is_about_us = bool(has & {"documents", "speaker"})
        is_rest = begins and is_bare and "between" not in has and (is_about_us or "know" in has)
        is_short = SHORT * len(part) <= self.near
        is_aside = "asides" in has and (follows or is_short or is_about_us)
        return ASIDE if is_topic or is_rest or is_aside else CLAIM

    def has(self, text: str, among: Iterable[str] = LOOKED_FOR) -> set[str]:
        """The kinds of words in a text; `among`: those for which more than one word is looked for."""
        several = {kind for kind in among if kind in self.kinds and self.kinds[kind].search(text)}
        return several.union(*map(self._of, text.split()))

    def _of(self, word: str) -> frozenset[str]:
        """The kinds of one word, or of what is behind an apostrophe in it: most words come again and again."""
        if word not in self.known:
            if len(self.known) > MOST_KNOWN:
                self.known.clear()
            texts = [word, *(word[match.end() :] for match in re.finditer("'", word))]
            self.known[word] = frozenset(
                kind for kind, pattern in self.single.items() if any(map(pattern.fullmatch, texts))
            )
        return self.known[word]

    def _first(self, kind: str, text: str) -> int | None:
        """Where the first word of a kind begins."""
        return min((start for start, _ in self._places(kind, text)), default=None)

    def _places(self, kind: str, text: str) -> Iterator[tuple[int, int]]:
        if kind in self.single:
            yield from (match.span() for match in WORD.finditer(text) if kind in self._of(match[0]))
        if kind in self.kinds:
            yield from (match.span() for match in self.kinds[kind].finditer(text))

    def _answers(self, part: str) -> bool:
        """Whether a refusal goes on behind a comma with what answers."""
        end = COMMA.split(part)[-1]
        has = self.has(end) if end != part else set()
        if end == part or has & {"not", "documents", "speaker", "asides"} or self._first("asked", end) == 0:
            return False
        return bool(has & {"values", "answers"}) or any(map(str.isdigit, end))

    def _is_of_others(self, part: str) -> bool:
        """Whether somebody else does not know or tell: named before documents, speaker and refusal."""
        others = self.kinds["others"].search(part)
        if others is None:
            return False
        ours = (self._first(kind, part) for kind in ("documents", "speaker", "refuses"))
        return all(start is None or others.start() <= start for start in ours)

    def _is_told(self, part: str) -> bool:
        return any(self.told.match(part, end) for _, end in self._places("documents", part))

    def _refuses(self, part: str, pairs: Sequence[tuple[str, str]]) -> bool:
        """Whether a negation has near it what documents tell, the speaker knows or there is to find."""
        kinds = set(chain.from_iterable(pairs))
        for clause in self.kinds["between"].split(part):
            for start, end in self._places("not", clause):
                has = self.has(clause[max(0, start - self.near) : end + self.near], kinds)
                if any(has.issuperset(pair) for pair in pairs):
                    return True
        return False


@cache
def _words(language: str) -> Words | None:
    """The words of a language, by its name; None where none are known."""
    rows = _rows().get(language)
    if rows is None:
        return None
    before, behind = ("", "") if language in UNSPACED else (r"(?<![^\s'])", r"(?!\S)")

    def pattern(words: Iterable[str]) -> re.Pattern[str]:
        text = "|".join(words)
        for kind in ("about", "speaker", "documents"):  # the first may name the others
            text = text.replace(f"{{{kind}}}", f"(?:{'|'.join(rows[kind])})")
        return re.compile(f"{before}(?:{text}){behind}")

    kinds = {kind: list(words) for kind, words in rows.items()}
    told = [words.removeprefix(DOCUMENTS) for words in rows["refuses"] if words.startswith(DOCUMENTS)]
    kinds["refuses"] = [words for words in rows["refuses"] if not words.startswith(DOCUMENTS)]
    single = {}
    for kind in ONE_BY_ONE if before else ():
        single[kind] = [words for words in kinds[kind] if not SEVERAL.search(words)]
        kinds[kind] = [words for words in kinds[kind] if SEVERAL.search(words)]
    return Words(
        {kind: pattern(words) for kind, words in kinds.items() if words},
        {kind: re.compile("|".join(f"(?:{it})" for it in words)) for kind, words in single.items() if words},
        re.compile(f"(?:{'|'.join(told)}){behind}"),
        UNSPACED.get(language, NEAR),
    )


@cache
def _rows() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """language -> kind -> alternatives, from `refusals.jsonl`: regular expressions in small letters.

    Kinds: `documents`, `speaker` and `info` (what is asked for), with `tell`, `know` and `exist`, what these do or do
    not; `not`, negations; `between`, what divides two clauses; `refuses`, what refuses alone; `turns`, what a claim may
    follow; `yields`, that begin a clause before a comma; `others`, who else may not know, or does not know for sure;
    `about`, what only names a topic of documents; `asides`: advice, apologies, offers; `values`, numbers as words;
    `answers`, by which a part is an answer after all; `sources`, that name where a claim is from; `asked`, that begin
    an indirect question.
    """
    rows: defaultdict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for line in (PACKAGE / "verifiers" / "refusals.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["language"]][row["kind"]] = [alike(words) for words in row["patterns"]]
    return rows
