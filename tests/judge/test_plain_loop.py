"""Token for token what the plainest loop gives: one sequence, no cache, no shared prefix, no forced tokens."""

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model
from test_judge import random_request
from tiny_models import Tiny

from rag_evaluator import Judge
from rag_evaluator.judge import PromptText
from rag_evaluator.judge.encoding.sequence import Sequence

pytestmark = pytest.mark.models


class Unforced(Sequence):
    """Chooses every token by its mask, also where the grammar leaves one only."""

    def _forced_tokens(self) -> list[int]:
        return []


def plainest(judge: Judge, request: Any) -> tuple[list[int], list[float]]:
    """The tokens and the confidences of an answer."""
    sequence = Unforced(
        replace(request, budget=replace(request.budget, max_new_tokens=10**6)), judge.inner.engine.vocabulary
    )
    while not sequence.done:
        ids = torch.tensor([[*request.input_ids, *sequence.tokens]])
        with torch.inference_mode():
            logits = judge.inner.engine.model(ids).logits[:, -1]
        allowed = sequence.within_budget(sequence.mask())
        token = int(logits[0].masked_fill(~allowed, float("-inf")).argmax())
        if sequence.is_weighed(token):
            known = {int(other): float(logits[0, other]) for other in allowed.nonzero()}
            sequence.confidence.append(sequence.share(token, known))
        sequence.push(token)
    return sequence.tokens, sequence.confidence


def random_model(rng: random.Random, depth: int = 0) -> type[BaseModel]:
    """A response model of nested objects, lists, numbers, flags and texts."""
    kinds: list[Any] = [str, int, bool, float, list[int]]
    if depth < 2:
        inner = random_model(rng, depth + 1)
        kinds += [inner, list[inner]]  # type: ignore[valid-type]
    fields: dict[str, Any] = {f"field_{i}": (rng.choice(kinds), ...) for i in range(rng.randint(1, 3))}
    return create_model(f"Model{depth}", **fields)


@pytest.mark.parametrize("kind", ["llama-bytelevel", "qwen2-chat", "gpt2"])
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 6), batch_size=st.integers(1, 4))
def test_any_batch_of_any_schema_is_answered_as_the_plainest_loop_does(
    tiny: Tiny, kind: str, seed: int, rows: int, batch_size: int
) -> None:
    """Seed 1 of `llama-bytelevel` would show that an unforced random model may spell a forced `": "` otherwise."""
    rng = random.Random(seed)
    judge = tiny(kind, max_new_tokens=4000, dtype="float32", batch_size=batch_size)
    judge.inner.config = judge.config.model_copy(update={"max_new_tokens": 160})
    head = "These words stand before every question. " * rng.randint(0, 3)
    requests = []
    for _ in range(rows):
        text, model = random_request(rng) if rng.random() < 0.5 else (PromptText("Fill in.\nOutput: "), None)
        response_model = model or random_model(rng)
        request = judge.inner.request(PromptText(head + text, text.data, "same"), response_model)
        spells_control_tokens = "<" in text  # there the mask of the grammar engine alone leads into a wrong token
        if not spells_control_tokens:
            requests.append(request)
    replies = judge.inner.engine.handle(requests)
    for request, reply in zip(requests, replies, strict=True):
        assert not isinstance(reply, Exception)
        if reply.complete:
            tokens, confidence = plainest(judge, request)
            assert reply.token_ids.tolist() == tokens
            assert list(reply.confidence) == pytest.approx(confidence, abs=1e-4)
