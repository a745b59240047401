"""Guessed tokens: they come from the text itself, save passes, and change no answer."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from tiny_models import Tiny

from rag_evaluator import Judge
from rag_evaluator.judge import on_model_thread


class Claims(BaseModel):
    statements: list[str]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_guesses_save_passes_and_change_no_answer(tiny: Tiny, temperature: float) -> None:
    prompts = [f"Repeat: {word * 6} {word} {word}" for word in ("ab", "Nolu Brak ", "[1, 2], ")]

    async def answers(judge: Judge) -> list[Any]:
        return await asyncio.gather(*(judge.agenerate(prompt, Claims) for prompt in prompts), return_exceptions=True)

    made = []
    passes = []
    for are_guessed in (False, True):
        judge = tiny("llama-bytelevel", dtype="float32", max_new_tokens=96, temperature=temperature)
        engine: Any = judge.inner.engine
        engine.decoder.is_half = are_guessed
        count: list[int] = []
        engine.model.register_forward_pre_hook(lambda *_, count=count: count.append(1))
        made.append(list(map(repr, asyncio.run(answers(judge)))))
        passes.append(len(count))
    assert made[0] == made[1]
    assert passes[1] < passes[0] or temperature, "what is drawn at random repeats nothing"


def test_half_precision_on_a_cpu_guesses_and_float32_keeps_its_bytes(tiny: Tiny) -> None:
    for dtype in ("float32", "bfloat16"):
        judge: Any = tiny("llama-bytelevel", dtype=dtype)
        assert judge.inner.engine.decoder.is_half == (dtype == "bfloat16")


def test_models_are_loaded_on_the_thread_that_runs_them() -> None:
    import threading

    @on_model_thread
    def name(outer: bool) -> str:
        return name(False) if outer else threading.current_thread().name

    assert name(True).startswith("models")
