"""Checkpoints that read pictures and text, judging texts only."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import tiny_models
from pydantic import BaseModel

from rag_evaluator import Judge
from rag_evaluator.config import JudgeConfig

ModelFolder = Callable[..., Path]


class Verdict(BaseModel):
    reason: str
    verdict: Literal[0, 1]


def judge_of(folder: Path) -> Judge:
    return Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=48))


@pytest.mark.parametrize("name", tiny_models.VISION_TEXT)
def test_a_vision_text_folder_judges_packed_with_the_tokens_that_the_model_gives_alone(
    model_folder: ModelFolder, name: str
) -> None:
    judge = judge_of(model_folder(name))
    assert judge.about["path"] == "packed"
    engine = judge.inner.engine  # type: ignore[attr-defined]
    requests = [judge.inner.request(f"Is {count} right? {'So it is. ' * count}", Verdict) for count in (1, 9, 30)]
    together = [reply.token_ids for reply in engine.handle(requests)]
    alone = [tiny_models.plain_of(judge).decode([request])[0].token_ids for request in requests]
    assert together == alone
    assert len(set(map(tuple, together))) > 1  # the prompts count
    assert judge.generate("Is it so?", Verdict).verdict in (0, 1)
