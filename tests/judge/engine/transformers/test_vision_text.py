"""Checkpoints that read pictures and text, judging texts only."""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import tiny_models
from pydantic import BaseModel

from rag_evaluator import Judge
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import load_pipeline

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


def test_transformers_does_not_log_that_the_model_cannot_write_texts(model_folder: ModelFolder) -> None:
    logger, records = logging.getLogger("transformers.pipelines.base"), []
    logger.addFilter(records.append)  # type: ignore[arg-type]
    try:
        load_pipeline(JudgeConfig(model=str(model_folder("Mistral3"))))
    finally:
        logger.removeFilter(records.append)  # type: ignore[arg-type]
    assert not records


@pytest.mark.parametrize("file", ["chat_template.json", "processor_config.json"])
def test_the_template_is_found_in_a_file_of_the_processor(model_folder: ModelFolder, tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(model_folder("Qwen3VL"), tmp_path / "model"))
    (folder / "chat_template.jinja").unlink()
    (folder / file).write_text(json.dumps({"chat_template": tiny_models.PARTS}), encoding="utf-8")
    prompt = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    encoder = judge_of(folder).encoder
    assert encoder.decode(encoder.encode("Who?")) == prompt
