"""Loads the generative model from disk as langchain's `HuggingFacePipeline`, with errors that say what to do."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.transformers.merging import merged
from rag_evaluator.judge.engine.transformers.model_folder import FoundModel, check_direction, find_judge
from rag_evaluator.judge.engine.transformers.tokenizer import PLACE, check_tokenizer, read_tokenizer
from rag_evaluator.judge.engine.transformers.weights import device_map
from rag_evaluator.models.hub import load_failure, loading
from rag_evaluator.offline import hub

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline
    from transformers import PreTrainedModel

NOT_LOADED = re.compile(r"^(\S+)\s*\|\W*(?:\[\d+m)?(?:MISSING|MISMATCH)")  # a line of transformers' load report


def load_pipeline(config: JudgeConfig, offline: bool = True) -> "HuggingFacePipeline":
    """The judge's model, with its adapter if it has one, and its tokenizer as a `text-generation` pipeline.

    Weights must be safetensors and no code from the model's folder is run, unless `model_kwargs` says otherwise.
    Raises `ModelError` for a model that cannot judge.
    """
    found = find_judge(config, offline)
    try:
        with loading(config.model), hub(offline):
            tokenizer = read_tokenizer(found.source, **found.kwargs)
            model = _load_model(found, device_map(config, Path(found.source)))
            return _pipeline(model, tokenizer, found, config.in_flight)
    except ModelError:
        raise
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        from rag_evaluator.judge.engine.transformers.memory import out_of_memory

        if out_of_memory(error):
            raise ModelError(
                f"judge.model: too little memory to load {config.model}. Use a smaller model, judge.dtype: bfloat16, "
                "or quantised weights."
            ) from error
        raise ModelError(f"judge.model: {found.source} cannot be loaded: {load_failure(error)}") from error


def load_tokenizer(config: JudgeConfig, offline: bool = True) -> Any:
    """The judge's fast tokenizer without its model. Raises `ModelError`. Any: transformers gives no common type."""
    found = find_judge(config, offline)
    with hub(offline):
        return read_tokenizer(found.source, **found.kwargs)


def check_model(model: Any, tokenizer: Any) -> None:
    """Refuse what loads but cannot judge. Raises `ModelError`."""
    check_direction(getattr(model, "name_or_path", "") or "the model", model.config.to_dict())
    check_tokenizer(tokenizer)


def _load_model(found: FoundModel, device_map: Any) -> "PreTrainedModel":
    """The model on its devices, complete. Raises `ModelError`, and what libraries raise."""
    source, kwargs = found.source, {"device_map": device_map, **found.kwargs}
    with _load_report() as report:
        model: PreTrainedModel = _loader(source, kwargs).from_pretrained(source, **kwargs)
    if missing := [match[1] for line in report if (match := NOT_LOADED.match(line))]:
        named = ", ".join(missing[:3])
        raise ModelError(
            f"judge.model: {source} lacks {len(missing)} of the model's weights ({named}); it would judge at random. "
            "Take a complete checkpoint of a causal language model."
        )
    return model if found.adapter is None else merged(model, found.adapter)


def _loader(source: str, kwargs: dict[str, Any]) -> Any:
    """The class of transformers that loads a model; Any: they have no common type.

    Vision-text models such as Qwen2.5-VL have no causal language model of their own: they are loaded whole, and never
    see a picture.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    )

    place = {name: value for name, value in kwargs.items() if name in PLACE}
    kind = type(AutoConfig.from_pretrained(source, **place))
    with_pictures = kind in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING and kind not in MODEL_FOR_CAUSAL_LM_MAPPING
    return AutoModelForImageTextToText if with_pictures else AutoModelForCausalLM


def _pipeline(model: "PreTrainedModel", tokenizer: Any, found: FoundModel, batch_size: int) -> "HuggingFacePipeline":
    from langchain_huggingface import HuggingFacePipeline
    from transformers import pipeline

    with _unlogged("transformers.pipelines.base"):  # of vision-text models it says that they cannot write texts
        inner = pipeline(
            "text-generation", model=model, tokenizer=tokenizer, batch_size=batch_size, return_full_text=False
        )
    return HuggingFacePipeline(
        pipeline=inner,
        model_id=found.source,
        model_kwargs=dict(found.kwargs),
        pipeline_kwargs={"return_full_text": False},
        batch_size=batch_size,
    )


@contextmanager
def _unlogged(name: str) -> Iterator[None]:
    """Nothing is logged under a name in the block."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@contextmanager
def _load_report() -> Iterator[list[str]]:
    """The lines that transformers logs about the weights it loads in the block, whatever the user's log level is."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.extend(record.getMessage().splitlines())

    logger, handler = logging.getLogger("transformers.modeling_utils"), Collect()
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
