"""A small world in two languages, planted faults, and a judge that knows it: for exact expectations of test sets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aliases import Json
from folders import write_lines
from langchain_core.embeddings import Embeddings

from rag_evaluator import ScriptedJudge

TOWNS = "Arlen Tesk Corvania Melund Pardo Quiral Sonna Velt Widmar Zarent Brisk Dorla".split()
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Words:
    """Sentences of a language, with {town}, {length} and {other}."""

    text: str
    question: str
    vague: str
    width: str
    answer: str
    silent: str


LANGUAGES: Mapping[str, Words] = {
    "english": Words(
        "The bridge of {town} crosses the river near the old market and is {length} metres long. It was built of stone "
        "by the people of the town, who were proud of it.",
        "How long is the bridge of {town} near the old market?",
        "How long is the bridge near the old market of the town?",
        "How wide is the bridge of {town} near the old market?",
        "It is {length} metres long, so the chronicle of the town says.",
        "The documents do not say how wide the bridge of {town} is.",
    ),
    "chinese": Words(
        "{town}大桥在老市场旁边横跨河流,全长{length}米。这座桥是由当地居民用石头建造的,他们为此感到非常自豪,每年都会在桥上举行盛大的庆祝活动。",
        "老市场旁边的{town}大桥有多长?",
        "老市场旁边的那座大桥有多长?",
        "老市场旁边的{town}大桥有多宽?",
        "根据城市的编年史记载,它的长度是{length}米。",
        "文件中没有说明{town}大桥的宽度是多少。",
    ),
}
PLANTED = {
    "Tesk": "vague",  # other documents answer it, too
    "Corvania": "width",  # nothing answers it
    "Melund": "wrong reference",
    "Pardo": "known",  # by heart
    "Quiral": "copy",  # the answer repeats the question
    "Sonna": "other language",
    "Velt": "duplicate",  # of the question about Arlen
    "Widmar": "blank",
}
LEFT_OUT = {
    "Tesk": "names_document",
    "Corvania": "answerable",
    "Melund": "answerable",
    "Pardo": "not_known",
    "Quiral": "not_copied",
    "Sonna": "language",
    "Velt": "not_duplicate",
    "Widmar": "question",
}


def length_of(town: str) -> int:
    return 300 + 7 * TOWNS.index(town)


def text_of(town: str, language: str) -> str:
    """Of a document: that of Velt says the same as that of Arlen, under another heading."""
    about = "Arlen" if PLANTED.get(town) == "duplicate" else town
    heading = "# Velt\n\n" if about != town else ""
    return heading + LANGUAGES[language].text.format(town=about, length=length_of(about))


def write_documents(folder: Path, language: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for town in TOWNS:
        (folder / f"{town}.txt").write_text(text_of(town, language), "utf-8")
    return folder


def rows_of(language: str, towns: Sequence[str], **changed: Any) -> list[Json]:
    """A good row for each town, as people write it, with other columns."""
    words = LANGUAGES[language]
    return [
        {
            "id": town,
            "user_input": words.question.format(town=town),
            "reference": words.answer.format(length=length_of(town)),
            "reference_contexts": [text_of(town, language)],
            **changed,
        }
        for town in towns
    ]


def write_rows(path: Path, rows: Sequence[Json]) -> None:
    write_lines(path, rows)


class Letters(Embeddings):
    """Texts are near that have the same pieces of three letters."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [1e-3] * 257
        for place in range(len(text) - 2):
            vector[sum(ord(letter) * 31**power for power, letter in enumerate(text[place : place + 3])) % 257] += 1
        return vector


class Knowing:
    """A judge that knows the world and makes no mistake but those that are planted in what it writes."""

    def __init__(self, language: str) -> None:
        self.words = LANGUAGES[language]
        self.language = language

    def judge(self) -> ScriptedJudge:
        return ScriptedJudge(self.said, self.chosen, model_id=f"knowing-{self.language}")

    def said(self, prompt: str, response_model: type) -> Json:
        data = prompt.data  # type: ignore[attr-defined]
        return {
            "MadeOutput": self._made,
            "ReferenceOutput": self._answer,
            "KnownOutput": self._known,
        }[response_model.__name__](data)

    def chosen(self, prompt: str, options: Sequence[str]) -> str:
        data = prompt.data  # type: ignore[attr-defined]
        told = NUMBER.findall(data.answer)
        if hasattr(data, "reference"):
            is_yes = told == NUMBER.findall(data.reference)
        else:
            is_yes = bool(told) and told[0] in NUMBER.findall(data.context)
        return options[0] if is_yes else options[1]

    def _made(self, data: Any) -> Json:
        town = self._town(data.contexts[0])  # of the duplicate: Velt, whose name comes first
        other = LANGUAGES["chinese" if self.language == "english" else "english"]
        fault = PLANTED.get(town, "")
        words = other if fault == "other language" else self.words
        question = {"vague": words.vague, "width": words.width}.get(fault, words.question)
        about = "Arlen" if fault == "duplicate" else town
        length = length_of(about) + (1 if fault == "wrong reference" else 0)
        answer = question if fault == "copy" else "  " if fault == "blank" else words.answer
        return {"question": question.format(town=about), "answer": answer.format(town=about, length=length)}

    def _answer(self, data: Any) -> Json:
        """From the last context that is about the town, or about any if the question names none."""
        if self._is_width(data.user_input):
            return {"answerable": 0, "answer": ""}
        town = self._town(data.user_input)
        about = [context for context in sorted(data.contexts) if town is None or town in context]
        if not about:
            return {"answerable": 0, "answer": ""}
        length = NUMBER.findall(about[-1])[0]
        return {"answerable": 1, "answer": self.words.answer.format(length=length)}

    def _known(self, data: Any) -> Json:
        town = self._town(data.user_input)
        if town != "Pardo":
            return {"known": 0, "answer": ""}
        return {"known": 1, "answer": self.words.answer.format(length=length_of(town))}

    def _town(self, text: str) -> Any:
        return min((town for town in TOWNS if town in text), key=text.index, default=None)

    def _is_width(self, question: str) -> bool:
        return any(word in question for word in ("wide", "多宽"))
