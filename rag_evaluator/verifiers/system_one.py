"""`SystemOne`: a verifier that a server runs; it answers typed questions about a text by probabilities.

The form of `POST /v1/systemone` is that of TypeSafe's Jev (September 2026); llama.cpp, Ollama and vLLM answer it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from rag_evaluator.config import VerifierConfig, find_language
from rag_evaluator.errors import JudgeLostError, JudgementError, ModelError, UndefinedScoreError
from rag_evaluator.files import short_digest
from rag_evaluator.judge import (
    FIRST_RETRIES,
    USUAL_OPEN,
    Address,
    Client,
    CutPromptError,
    Trials,
    TwoHalves,
    about_tokens,
    run,
    tokens_read,
    unusable,
)

from .batches import rounded
from .evidence import Evidence, Limit
from .verifier import UNLIMITED, Support

ROUTE = "/systemone"
MOST = 64  # questions of a request; servers refuse more
INSTRUCTIONS = "Does the text support this sentence? {sentence}"
CRITERIA = {
    "true": "All that the sentence says is in the text.",
    "false": "The text lacks or contradicts a part of it.",
}
SKY = "The sky is blue."  # what a server is asked about first


class _Noul(BaseModel):
    noul: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class _Answer(BaseModel):
    model: str = ""
    answers: dict[str, _Noul]


class SystemOne:
    """A model on a server that says how surely a text supports sentences.

    Args:
        config: with the address of the server.
        language: of the texts, which says where sentences end.
        offline: take a server on this machine only.

    Raises `ModelError` for a wrong address; the server is asked when it is first needed. Servers may cut texts with
    status 200: one that is longer than all that were read whole is tried first, by the tokens that the server counts.
    """

    def __init__(self, config: VerifierConfig, language: str = "english", offline: bool = True) -> None:
        self.config = config
        self.language = find_language(language)
        self.address = Address.of(config, offline, "verifier")
        most = USUAL_OPEN if config.batch_size == "auto" else config.batch_size
        self._client = Client(self.address, most, route=ROUTE)
        self._name = ""  # of the model that answered first

    @property
    def served(self) -> str:
        """The name of the model that answers, as the server has it; no path. Raises `ModelError`."""
        self.load()
        return Path(self._name).name if self._name.startswith("/") else self._name

    @property
    def signature_parts(self) -> dict[str, str]:
        """Return what its probabilities depend on beside the texts, by name. Raises `ModelError`."""
        wording = short_digest("\n".join([INSTRUCTIONS, *CRITERIA.values()]))
        return {
            "verifier": f"served:{self.served}-{wording}".replace("|", "/"),
            "kind": "systemone",
            "evidence": f"{self.config.evidence}-{self.config.piece}",
        }

    def load(self) -> None:
        """Ask the server, once. Raises `ModelError`."""
        _ = self._trials

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        """Say how surely contexts support each sentence, as `VerifierProtocol.supports`; the question is not used.

        Raises `JudgementError` where the server refuses or cuts a text, `JudgeLostError` where it is gone.
        """
        self.load()
        return run(self._supports(contexts, hypotheses))

    async def _supports(self, contexts: Sequence[str], hypotheses: Sequence[str]) -> list[Support]:
        evidence = Evidence(
            contexts, lambda texts: list(map(about_tokens, texts)), self.language, self.config.evidence == "each"
        )
        pieces = evidence.pieces(Limit(self.config.piece, UNLIMITED))
        if not pieces:
            raise UndefinedScoreError("there is no evidence")
        try:
            for trials, texts in zip(self._trials, ([piece.text for piece in pieces], hypotheses), strict=True):
                for text in sorted(texts, key=len, reverse=True):
                    await trials.check(text)
            shares = await asyncio.gather(*(self._shares(piece.text, hypotheses) for piece in pieces))
        except CutPromptError as error:
            raise CutPromptError(f"{error} Or set verifier.piece, which is {self.config.piece}, lower.") from error
        finally:
            await self._client.aclose()
        return [Support.of(row, pieces) for row in zip(*shares, strict=True)]

    async def _shares(self, text: str, sentences: Sequence[str]) -> list[float]:
        """Return the probability that a text supports each sentence, see `rounded`."""
        shares: list[float] = []
        for start in range(0, len(sentences), MOST):
            shares += (await self._ask(self._client, text, sentences[start : start + MOST]))[0]
        return list(map(rounded, shares))

    @cached_property
    def _trials(self) -> tuple[Trials, Trials]:
        """Those of texts and of sentences, once the server has answered. Raises `ModelError`."""
        return run(self._tried())

    async def _tried(self) -> tuple[Trials, Trials]:
        client = Client(self.address, retries=FIRST_RETRIES, route=ROUTE)
        try:
            await self._ask(client, SKY, [SKY])
            halves = await TwoHalves.of(lambda text: self._read(client, text, SKY), 0)
        except (JudgementError, JudgeLostError) as error:
            raise unusable(error, "verifier") from error
        finally:
            await client.aclose()
        if halves is None:
            raise ModelError(
                "verifier.url: the server does not count the tokens that it reads (usage.input_tokens), so that nobody "
                "would see that it cuts a text. Take one that does."
            )
        of_texts = replace(halves, read=lambda text: self._read(self._client, text, SKY))
        of_sentences = replace(halves, read=lambda text: self._read(self._client, SKY, text))
        return Trials(of_texts), Trials(of_sentences)

    async def _read(self, client: Client, text: str, sentence: str) -> int:
        """Return the tokens that the server reads, with template and question. Raises `JudgementError`."""
        _, read = await self._ask(client, text, [sentence])
        if read is None:
            raise JudgementError("the server does not say how many tokens it has read")
        return read

    async def _ask(self, client: Client, text: str, sentences: Sequence[str]) -> tuple[list[float], int | None]:
        """Return a probability for each sentence, and the tokens read. Raises `JudgementError`, `JudgeLostError`."""
        questions = {
            str(number): {
                "type": "noul",
                "instructions": INSTRUCTIONS.format(sentence=sentence),
                "criteria": CRITERIA,
            }
            for number, sentence in enumerate(sentences)
        }
        answered = await client.ask({"model": self.config.model, "state": text, "questions": questions})
        try:
            answer = _Answer.model_validate(answered)
            shares = [answer.answers[key].noul for key in questions]
        except ValidationError as error:
            (fault, *_) = error.errors()
            place = ".".join(map(str, fault["loc"]))
            raise JudgementError(f"the server's answer is none of /v1{ROUTE}: {place}: {fault['msg']}") from None
        except KeyError:
            raise JudgementError(f"the server gave {len(answer.answers)} of {len(questions)} answers") from None
        name = answer.model or self.config.model
        self._name = self._name or name
        if name != self._name:
            raise JudgeLostError(
                f"verifier.model: first '{self._name}' answered, now '{name}'. Let the server run one."
            )
        return shares, tokens_read(answered)
