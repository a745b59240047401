"""A chat with a JSON schema: what a server is asked, what it can do, and what it answers."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError
from rag_evaluator.judge.encoding.chat import VARIABLES
from rag_evaluator.judge.engines.server.client import Client
from rag_evaluator.judge.engines.server.logprobs import NoLogprobsError, Tokens, question_of
from rag_evaluator.judge.engines.server.long_prompts import UNKNOWN, WORD, HiddenWord, TokenCount, hide, tokens_read
from rag_evaluator.judge.grammar.schema import plain

OFF: Mapping[str, Any] = {"chat_template_kwargs": dict.fromkeys(VARIABLES, False)}
ON: Mapping[str, Any] = {"chat_template_kwargs": dict.fromkeys(VARIABLES, True)}
NO_EFFORT: Mapping[str, Any] = {"reasoning_effort": "none"}
SWITCHES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "off": ({**OFF, **NO_EFFORT}, OFF, NO_EFFORT, {}),
    "on": (ON, {}),
}
"""`judge.thinking` -> what a server is sent with each question, the first that it does not refuse."""
THOUGHT = 8192  # tokens: the budget of a server counts its own thought, of which it need not tell the length
TOPS = (20, 5)  # log probabilities of a token, as many as servers allow
MOST = 100  # tokens of a short answer
QUESTION = "Which colour has the sky on a clear day? Answer with one word."
CONSTANT = {"zq": "brimfold-40716"}  # no model would say it
PROBE = {"type": "object", "properties": {"zq": {"const": CONSTANT["zq"]}}}
WORD_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
VERDICT = "Is the sky blue on a clear day? Answer with 1 for yes, with 0 for no."
VERDICTS = ['{"verdict": 0}', '{"verdict": 1}']
SUFFIXES = (".gguf", "-gguf", ":latest")  # that say nothing of the model
VARIANT = re.compile(  # of a model under its own name: a dated snapshot, or a quantisation
    r"[-_.:@](\d{4}-?\d\d-?\d\d|\d{3,4}|(ud-)?i?q\d\w*|bf16|fp?(8|16|32)|int[48]|[48]-?bit|awq|gptq|mxfp4|nvfp4)"
)


def check_model(asked: str, answer: Mapping[str, Any]) -> None:
    """Raise `JudgeLostError` for an answer of another model than the one that was asked."""
    name = answer.get("model")
    if isinstance(name, str) and name and not same_model(asked, name):
        raise JudgeLostError(
            f"judge.served_model: '{asked}' was asked, and the answer is from '{name:.100}'. Load '{asked}' in the "
            "server, or set judge.served_model to the model that shall judge."
        )


def same_model(asked: str, answered: str) -> bool:
    """Return whether two names can be of one model: with or without path, organisation, snapshot or quantisation."""
    (first, short), (second, long) = sorted(map(_parts, (asked, answered)), key=lambda parts: len(parts[1]))
    if first and second and first != second:
        return False
    return long.startswith(short) and (long == short or VARIANT.fullmatch(long[len(short) :]) is not None)


def _parts(name: str) -> tuple[str, str]:
    """Return organisation, empty where there is none, and name; of a path its last part."""
    *folders, last = name.replace("\\", "/").casefold().split("/")
    for suffix in SUFFIXES:
        last = last.removesuffix(suffix)
    return folders[0] if len(folders) == 1 else "", last


@dataclass(frozen=True)
class ChatAnswer:
    """What a server answered.

    Attributes:
        ended: whether the answer ended by itself, and not because of its budget.
        thought: before it, if the server tells one.
        choice: all of it as the server wrote it.
        read: tokens of the prompt, as the server counts them; None: it does not say.
    """

    text: str
    ended: bool
    thought: str
    choice: Mapping[str, Any] = field(repr=False)
    read: int | None = None


class Chat:
    """Asks one model of a server.

    Attributes:
        model: its name there.
        thought: tokens that an answer may have more because the server thinks.
        switch: what the server is sent to switch thinking on or off.
        tops: log probabilities of each token that it tells; 0: none that can be used.
        why: why none.
        tokens: compares what it reads of a prompt with our count; None: the tokenizer is not known.
        word: tries long prompts; None where tokens are counted, or it finds no word in a short one.
    """

    def __init__(self, client: Client, model: str, config: JudgeConfig) -> None:
        self.client, self.model, self.config = client, model, config
        self.thought = THOUGHT if config.thinking == "on" else 0
        self.switch: Mapping[str, Any] = {}
        self.tops, self.why = 0, ""
        self.tokens: TokenCount | None = None
        self.word: HiddenWord | None = None

    @property
    def about(self) -> Mapping[str, str]:
        """For people: log probabilities, and how it is found out whether prompts are read whole."""
        long_prompts = TokenCount.about if self.tokens else HiddenWord.about if self.word else UNKNOWN
        return {"logprobs": f"top {self.tops}" if self.tops else f"none: {self.why}", "long_prompts": long_prompts}

    async def try_out(self) -> None:
        """Find what the server can do, once it has written what a schema dictates.

        Raises `ModelError` if it ignores schemas, `JudgementError`, `JudgeLostError`.
        """
        answer = await self._first_answer()
        if not answer.ended:
            raise ModelError(
                f"judge.url: the server's answer to a first question did not end within {MOST + self.thought} tokens. "
                "If its model thinks before it answers, set judge.thinking: on; else take a server that obeys schemas."
            )
        if value_of(answer.text) != CONSTANT:
            raise ModelError(
                f"judge.url: the server was asked for {json.dumps(CONSTANT)} by a JSON schema and wrote "
                f"{answer.text[:60]!r}: it ignores response_format, so its answers could not be used. Take a server or "
                "a model that obeys schemas."
            )
        for tops in TOPS:  # fewer where a server refuses to tell as many as we want
            self.tops = tops
            try:
                await self.weigh(VERDICT, VERDICTS, MOST)
                return
            except JudgementError as error:
                self.why = self.why or str(error)
                if isinstance(error, NoLogprobsError):
                    break
        self.tops = 0

    async def _first_answer(self) -> ChatAnswer:
        """Find how the thinking of the server's model is switched."""
        refusals = []
        for switch in SWITCHES[self.config.thinking]:
            self.switch = switch
            try:
                return await self.ask(QUESTION, PROBE, MOST)
            except JudgementError as error:
                refusals.append(error)
        raise refusals[0]

    async def find_reading(self, count: Callable[[str], int] | None) -> None:
        """Find how it can be found out whether prompts are read whole.

        Args:
            count: tokens of a text; None: the model's tokenizer is not known.

        Raises `ModelError` if that tokenizer is another one, `JudgementError`, `JudgeLostError`.
        """

        async def read(text: str) -> int | None:
            return (await self.ask(text, PROBE, MOST)).read

        self.tokens = None if count is None else await TokenCount.of(count, read)
        if self.tokens is None and await self.finds(hide(QUESTION)):
            self.word = HiddenWord(self.finds)

    async def finds(self, prompt: str) -> bool:
        """Return whether the model answers with the word that a prompt of `hide` has at its beginning.

        Raises `JudgementError`, `JudgeLostError`.
        """
        return WORD in (await self.ask(prompt, WORD_SCHEMA, MOST)).text.casefold()

    async def ask(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        most: int,
        temperature: float = 0.0,
        seed: int = 0,
        weighed: bool = False,
    ) -> ChatAnswer:
        """Return the answer to a prompt.

        Args:
            most: tokens that it may have, beside those of a thought.
            weighed: whether to ask for log probabilities.

        Raises `JudgementError`, `JudgeLostError`.
        """
        form = {"name": "answer", "strict": True, "schema": plain(dict(schema))}
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_schema", "json_schema": form},
            "temperature": temperature,
            "seed": seed % 2**31,
            "max_tokens": most + self.thought,
            **self.switch,
            **({"logprobs": True, "top_logprobs": self.tops} if weighed else {}),
        }
        answer = await self.client.ask(body)
        try:
            check_model(self.model, answer)
            read = tokens_read(answer)
            if self.tokens is not None:
                self.tokens.check(prompt, read)
            choice = answer["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason")
            if finish == "abort":  # of vLLM, with status 200 and what was written until then
                raise JudgeLostError("judge.url: the server has given up what it was writing, as it is being ended")
            thought = message.get("reasoning_content") or message.get("reasoning") or ""
            return ChatAnswer(str(message["content"] or ""), finish != "length", str(thought), choice, read)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise JudgeLostError(f"judge.url: the server's answer is no chat completion: {error!r}") from error

    async def weigh(self, prompt: str, options: Sequence[str], most: int) -> tuple[list[float], str]:
        """Return the probability of each option as the answer, summing to 1, and the thought before it.

        Raises `NoLogprobsError`, `JudgementError`, `JudgeLostError`.
        """
        schema, path, values = question_of(options)
        answer = await self.ask(prompt, schema, most, weighed=True)
        if not answer.ended:
            raise JudgementError("the server's answer did not end within its budget")
        value_of(answer.text)
        return Tokens(answer.choice, answer.text).shares(path, values), answer.thought


def value_of(text: str) -> Any:
    """Return the value of a whole answer. Raises `JudgementError` for what is no JSON or no text. Any: JSON."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # half of a character is no text
    except (ValueError, RecursionError) as error:
        raise JudgementError(
            f"the server did not obey the schema: {text[:60]!r} cannot be read as JSON: {str(error)[:100]!r}"
        ) from None
    return value
