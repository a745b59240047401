"""What a chat's `top_logprobs` say of verdicts and choices: each one's share among those that were allowed.

A server tells the texts of tokens, not their ids, and a token may hold more than a value. So a value is looked up in
the text of the answer, and the alternatives of the token that decides it are read as beginnings of the allowed values.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from pydantic_core import from_json

from rag_evaluator.errors import JudgementError
from rag_evaluator.files import Json
from rag_evaluator.judge.grammar.faults import Schema, Value
from rag_evaluator.judge.protocol import common_beginning

DECIMALS = 6
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')  # of JSON
Path = tuple[str | int, ...]  # of a value in an answer: keys and places
ROUNDING = 0.01  # log probabilities: above 0 by rounding only
LEAST = -9999.0  # servers write the least for "never"


class NoLogprobsError(JudgementError):
    """The server does not tell what is asked, or nothing that can be used; the message says why."""


class Tokens:
    """The tokens of an answer.

    Args:
        choice: of a chat completion.
        answer: its text; in that of the tokens there may be a thought before it.

    Raises `NoLogprobsError`.
    """

    def __init__(self, choice: Json, answer: str) -> None:
        logprobs = choice.get("logprobs")
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        if not entries:
            raise NoLogprobsError("the server tells no log probabilities")
        try:
            self._tokens = list(map(_token, entries))
        except (TypeError, ValueError) as error:
            raise NoLogprobsError(f"the server's log probabilities are not like OpenAI's: {error!r}") from None
        self.answer = answer
        self._begins = b"".join(text for text, _ in self._tokens).rfind(answer.encode())
        if self._begins < 0:
            raise NoLogprobsError("the server's tokens are not those of its answer")
        self._ends = list(accumulate(len(text) for text, _ in self._tokens))
        self._starts = _starts(answer)

    def shares(self, path: Path, values: Sequence[Value]) -> list[float]:
        """The probability of each of the values in a place of the answer, summing to 1. Raises `NoLogprobsError`."""
        if path not in self._starts:
            raise NoLogprobsError("the server's answer is not what was asked for")
        texts = [json.dumps(value, ensure_ascii=False).encode() for value in values]
        shared = min(len(common_beginning([tuple(text) for text in texts])), min(map(len, texts)) - 1)
        place = self._begins + len(self.answer[: self._starts[path]].encode()) + shared
        number = bisect_right(self._ends, place)  # of the token that holds this byte
        token, alternatives = self._tokens[number]
        before = token[: place - self._ends[number]]
        if len(alternatives) < 2:
            raise NoLogprobsError("the server tells no alternatives to a token")
        weights = [0.0] * len(values)
        for other, logprob in alternatives.items():
            if (meant := _meant(other, before, [text[shared:] for text in texts])) is not None:
                weights[meant] += math.exp(logprob)
        total = math.fsum(weights)
        if not 0 < total < math.inf:
            raise NoLogprobsError("the server's tokens are none of the values")
        return [weight / total for weight in weights]


def _token(entry: Any) -> tuple[bytes, dict[bytes, float]]:
    """A token, and the log probabilities of it and of those that could have been in its place. Any: JSON.

    Raises `ValueError` for an entry of a choice's log probabilities that is none.
    """
    from openai.types.chat import ChatCompletionTokenLogprob

    token = ChatCompletionTokenLogprob.model_validate(entry, strict=True)
    entries: list[Any] = [*token.top_logprobs, token]
    texts = [each.token.encode() if each.bytes is None else bytes(each.bytes) for each in entries]
    logprobs = [max(each.logprob, LEAST) for each in entries]
    if not all(logprob <= ROUNDING for logprob in logprobs):  # NaN is not, either
        raise ValueError(f"log probabilities are {logprobs!r:.40}")
    return texts[-1], dict(zip(texts, logprobs, strict=True))


def confidences(choice: Json, answer: str, schema: Schema, value: Value) -> tuple[float, ...]:
    """The probability of each verdict or rating of an answer, in the schema's order; empty where the server gives none.

    Args:
        choice: of a chat completion.
        answer: its text.
        value: the answer, read; it obeys the schema.
    """
    try:
        tokens = Tokens(choice, answer)
        return tuple(
            round(tokens.shares(path, values)[values.index(chosen)], DECIMALS)
            for path, values, chosen in scales([schema], value)
        )
    except NoLogprobsError:
        return ()


def scales(schemas: Sequence[Schema], value: Value, path: Path = ()) -> Iterator[tuple[Path, list[int], int]]:
    """Path, scale and value of each number in an answer that is one of several.

    Args:
        schemas: the forms that the value may have.
    """
    forms = [form for schema in schemas for form in schema.get("anyOf", [schema])]
    lists = [[form["const"]] if "const" in form else form.get("enum", []) for form in forms]
    values = list(dict.fromkeys(each for listed in lists for each in listed))
    if all(lists) and all(type(each) is int for each in values):
        if len(values) > 1:
            yield path, values, value
    elif isinstance(value, dict):
        for name in forms[0]["properties"]:
            yield from scales([form["properties"][name] for form in forms], value[name], (*path, name))
    elif isinstance(value, list) and not any(form.get("x-optional") for form in forms):
        for place, item in enumerate(value):
            of_place = [form["prefixItems"][place] if "prefixItems" in form else form["items"] for form in forms]
            yield from scales(of_place, item, (*path, place))


def question_of(options: Sequence[str]) -> tuple[Schema, Path, list[Value]]:
    """A question for one of several texts: the schema of its answer, where that decides, and the value of each option.

    Texts may be JSON objects, or their beginnings, that differ in a key; any other texts are values themselves.
    """
    objects = [_object(option) for option in options]
    names = list(objects[0])
    shared: Schema = {}
    for name in names if all(list(each) == names for each in objects) else ():
        values = [each[name] for each in objects]
        if len({json.dumps(value) for value in values}) == len(values):
            return {"type": "object", "properties": {**shared, name: {"enum": values}}}, (name,), values
        if any(value != values[0] for value in values):
            break
        shared[name] = {"const": values[0]}
    return {"type": "object", "properties": {"answer": {"enum": list(options)}}}, ("answer",), list(options)


def _object(option: str) -> dict[str, Value]:
    """An option, or its beginning, as JSON; of another text nothing."""
    try:
        value = from_json(option, allow_partial=True)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _meant(other: bytes, before: bytes, tails: Sequence[bytes]) -> int | None:
    """Which value a token begins or holds; None if none. Raises `NoLogprobsError` where it may be one of several.

    Args:
        before: what of the token is before the values differ; a token may have other blanks there.
        tails: the values from where they differ.
    """
    start = before.lstrip()
    text = other.lstrip() if start != before or not before else other
    if not text.startswith(start):
        return None
    rest = text[len(start) :]
    meant = [number for number, tail in enumerate(tails) if rest and (tail.startswith(rest) or _holds(rest, tail))]
    if len(meant) > 1:
        raise NoLogprobsError("the server's tokens are such that the values cannot be told apart")
    return meant[0] if meant else None


def _holds(text: bytes, tail: bytes) -> bool:
    """Whether a text begins with a whole value: after a number there is no further digit."""
    return text.startswith(tail) and not (tail[-1:].isdigit() and text[len(tail) :][:1].isdigit())


def _starts(text: str) -> dict[Path, int]:
    """Where each value of a JSON text begins."""
    starts: dict[Path, int] = {}
    path: list[Any] = []  # of the next value: places of lists; of objects keys, None where a key comes next
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in "}]":
            path.pop()
        elif token == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif path and path[-1] is None:
            path[-1] = json.loads(token)
        elif token != ":":
            starts[tuple(path)] = match.start()
            path += [None if token == "{" else 0] if token in "{[" else []
    return starts
