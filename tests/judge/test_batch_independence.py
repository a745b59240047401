"""Whether rows may be in one batch is tried out; `test_architectures` compares their answers."""

import logging
from typing import Any

import pytest
from tiny_models import Tiny, padding_decoder

from tools.architecture_settings import WINDOW

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    "kind, why", [("rwkv", "its logits change beside a longer row"), ("mamba2", None), ("bloom", None)]
)
def test_in_half_precision_too_models_that_heed_their_neighbours_are_decoded_one_row_at_a_time_with_a_warning(
    tiny: Tiny, kind: str, why: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        judge = tiny(kind, dtype="bfloat16", batch_size=16)
    assert judge.inner.engine.decoder.alone == why
    assert judge.inner.engine.decoder.batch_size.most == (1 if why else 16)
    assert [record.args for record in caplog.records if "decoded alone" in record.msg] == ([(why,)] if why else [])


@pytest.mark.parametrize("kind", ["mistral-window", "gemma2", "gpt-oss"])
def test_neighbours_are_tried_out_with_a_row_longer_than_the_attention_window(
    tiny: Tiny, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tiny(kind, dtype="float32", batch_size=1)
    model = judge.inner.engine.model
    seen: list[int] = []
    hook = lambda _, args, kwargs: seen.append(kwargs["input_ids"].shape[1])  # noqa: E731
    model.register_forward_pre_hook(hook, with_kwargs=True)
    assert padding_decoder(judge, 2).alone is None
    assert max(seen) > WINDOW
    monkeypatch.setattr(model, "num_parameters", lambda: 8 * 10**9)
    seen.clear()
    padding_decoder(judge, 2)
    assert max(seen) <= 64, "a large model on a CPU must not be tried out for minutes"


def test_a_trial_that_does_not_fit_the_memory_is_made_with_a_shorter_row(tiny: Tiny) -> None:
    judge = tiny("mistral-window", dtype="float32", batch_size=1)
    seen: list[int] = []

    def too_little(_: Any, args: Any, kwargs: Any) -> None:
        seen.append(kwargs["input_ids"].shape[1])
        if seen[-1] > 20:
            raise RuntimeError("CUDA error: out of memory")

    judge.inner.engine.model.register_forward_pre_hook(too_little, with_kwargs=True)
    assert padding_decoder(judge, 2).alone is None
    assert max(seen) > 20
