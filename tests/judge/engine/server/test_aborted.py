"""An answer that a server has given up is no answer, however much of it is there."""

import asyncio
import json
from contextlib import aclosing

import pytest
from fake_server import Fake, serve, status

from rag_evaluator import JudgeLostError
from rag_evaluator.judge import Address, Continuation, Server, TextEnd, Transport, Vllm

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.mark.parametrize("written", [[], [70, 71]])
def test_a_thought_that_a_server_aborts_because_it_ends_is_not_a_whole_thought(written: list[int]) -> None:
    """vLLM says so with status 200: a thought without its end would be taken as if the model had ended it there."""
    aborted = {
        "choices": [{"token_ids": written, "logprobs": {"top_logprobs": [{}] * len(written)}, "finish_reason": "abort"}]
    }
    thought = Continuation([1, 2], None, 0, 8, stop=TextEnd("</think>", frozenset({3})))

    async def asked(fake: Fake) -> None:
        transport = Transport(Address(fake.url), offline=True)
        async with aclosing(transport), aclosing(Vllm(transport, Server("vllm", "9", "tiny")).write(thought)) as tokens:
            async for _ in tokens:
                pass

    answer = status(200, json.dumps(aborted))
    with serve(owner="vllm", always=answer) as fake, pytest.raises(JudgeLostError, match="given up"):
        asyncio.run(asked(fake))
