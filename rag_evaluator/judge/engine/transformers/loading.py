"""Loads the generative model from disk as langchain's `HuggingFacePipeline`, with errors that say what to do."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.encoding.chat import PLACE, check_tokenizer, read_tokenizer
from rag_evaluator.judge.encoding.templates import check_template
from rag_evaluator.judge.engine.folders import AdapterFolder, refuse_adapter_files, refuse_gguf
from rag_evaluator.judge.engine.transformers.adapter import check_base, find_adapter, merge_adapter
from rag_evaluator.judge.engine.transformers.weights import check_quantisation, device_map, with_quantisation
from rag_evaluator.models.hub import find_model, load_failure, loading, read_settings
from rag_evaluator.offline import hub

ENCODERS = frozenset(  # model types that read in both directions unless their configuration says is_decoder
    "albert bert big_bird camembert data2vec-text deberta deberta-v2 distilbert electra ernie esm eurobert "
    "megatron-bert modernbert mpnet nomic_bert rembert roberta roberta-prelayernorm roc_bert roformer xlm-roberta "
    "xlm-roberta-xl xmod".split()
)
CAUSAL = "the judge needs a decoder-only (causal) language model such as Llama, Qwen or Mistral."
WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True)
class ModelFiles:
    """A model that can be loaded, as far as can be known without loading it.

    Attributes:
        source: its folder, or a hub id.
        kwargs: of from_pretrained. Any: whatever the user gave.
        adapter: what is to be merged into it.
    """

    source: str
    kwargs: Mapping[str, Any]
    adapter: AdapterFolder | None


def find_judge(config: JudgeConfig, offline: bool = True) -> ModelFiles:
    """The judge's model, after all checks that need not load it. Raises `ModelError`."""
    adapter = find_adapter(config)
    refuse_adapter_files(Path(config.model))
    refuse_gguf(Path(config.model), WEIGHTS)
    source = find_model(config.model, offline)
    folder, kwargs = Path(source), _kwargs(config, offline)
    model: Mapping[str, Any] = {}
    if folder.is_dir():
        refuse_adapter_files(folder)  # of a model in the cache
        refuse_gguf(folder, WEIGHTS)
        model = read_settings(folder / "config.json", "judge.model")
        check_direction(str(folder), model)
        _check_files(folder, bool(kwargs["use_safetensors"]))
    if adapter is not None:
        check_base(adapter, folder, model, kwargs)
    check_quantisation(source, model, kwargs)
    check_template(config.chat_template, folder)
    return ModelFiles(source, kwargs, adapter)


def _kwargs(config: JudgeConfig, offline: bool) -> dict[str, Any]:
    """Arguments of from_pretrained; the user's win."""
    safe = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": offline}
    return with_quantisation({**safe, "dtype": config.dtype, **config.model_kwargs})


def check_direction(name: str, model: Mapping[str, Any]) -> None:
    """Refuse what reads in both directions: transformers loads some encoders as decoders, which they are not.

    Args:
        model: the model's `config.json`. Any: JSON.
    """
    text = model.get("text_config")
    if model.get("is_encoder_decoder") or (isinstance(text, Mapping) and text.get("is_encoder_decoder")):
        kind = model.get("model_type", "unknown")
        raise ModelError(f"judge.model: this is an encoder-decoder model ({kind}); {CAUSAL}")
    architectures = model.get("architectures") or []
    masked = any(str(architecture).endswith("ForMaskedLM") for architecture in architectures)
    if masked or (model.get("model_type") in ENCODERS and not model.get("is_decoder")):
        kind = ", ".join([str(model.get("model_type")), *map(str, architectures)])
        raise ModelError(f"judge.model: {name} is an encoder ({kind}), which cannot write answers; {CAUSAL}")


def _check_files(folder: Path, safetensors: bool) -> None:
    """Tokenizer and weights."""
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        raise ModelError(
            f"judge.model: {folder} has no tokenizer (tokenizer.json). Copy the model's tokenizer files there."
        )
    if safetensors and not list(folder.glob("*.safetensors")):
        pickled = sorted(path.name for path in folder.glob("*.bin"))
        contents = f"It has {', '.join(pickled)}" if pickled else "It has no weights at all"
        raise ModelError(
            f"judge.model: {folder} has no *.safetensors file. {contents}. Convert the weights with "
            "save_pretrained(), or, if you trust the file, set judge.model_kwargs: {use_safetensors: false}."
        )


if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline
    from transformers import PreTrainedModel

NOT_LOADED = re.compile(r"^(\S+)\s*\|\W*(?:\[\d+m)?(?:MISSING|MISMATCH)")  # a line of transformers' load report


def load_pipeline(config: JudgeConfig, offline: bool = True) -> "HuggingFacePipeline":
    """The judge's model, with its adapter if it has one, and its tokenizer as a `text-generation` pipeline.

    Weights must be safetensors and no code from the model's folder is run, unless `model_kwargs` says otherwise.
    Raises `ModelError` for a model that cannot judge.
    """
    model_files = find_judge(config, offline)
    try:
        with loading(config.model), hub(offline):
            tokenizer = read_tokenizer(model_files.source, **model_files.kwargs)
            model = _load_model(model_files, device_map(config, Path(model_files.source)))
            return _pipeline(model, tokenizer, model_files)
    except ModelError:
        raise
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        from rag_evaluator.judge.engine.transformers.memory import out_of_memory

        if out_of_memory(error):
            raise ModelError(
                f"judge.model: too little memory to load {config.model}. Use a smaller model, judge.dtype: bfloat16, "
                "or quantised weights."
            ) from error
        raise ModelError(f"judge.model: {model_files.source} cannot be loaded: {load_failure(error)}") from error


def load_tokenizer(config: JudgeConfig, offline: bool = True) -> Any:
    """The judge's fast tokenizer without its model. Raises `ModelError`. Any: transformers gives no common type."""
    model_files = find_judge(config, offline)
    with hub(offline):
        return read_tokenizer(model_files.source, **model_files.kwargs)


def check_model(model: Any, tokenizer: Any) -> None:
    """Refuse what loads but cannot judge. Raises `ModelError`."""
    check_direction(getattr(model, "name_or_path", "") or "the model", model.config.to_dict())
    check_tokenizer(tokenizer)


def _load_model(model_files: ModelFiles, device_map: Any) -> "PreTrainedModel":
    """The model on its devices, complete. Raises `ModelError`, and what libraries raise."""
    source, kwargs = model_files.source, {"device_map": device_map, **model_files.kwargs}
    with _load_report() as report:
        model: PreTrainedModel = _loader(source, kwargs).from_pretrained(source, **kwargs)
    if missing := [match[1] for line in report if (match := NOT_LOADED.match(line))]:
        named = ", ".join(missing[:3])
        raise ModelError(
            f"judge.model: {source} lacks {len(missing)} of the model's weights ({named}); it would judge at random. "
            "Take a complete checkpoint of a causal language model."
        )
    return model if model_files.adapter is None else merge_adapter(model, model_files.adapter)


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


def _pipeline(model: "PreTrainedModel", tokenizer: Any, model_files: ModelFiles) -> "HuggingFacePipeline":
    """Texts of a chain are written one by one: in batches many tokenizers pad on the wrong side, or not at all."""
    from langchain_huggingface import HuggingFacePipeline
    from transformers import pipeline

    with _unlogged("transformers.pipelines.base"):  # of vision-text models it says that they cannot write texts
        inner = pipeline("text-generation", model=model, tokenizer=tokenizer, return_full_text=False)
    return HuggingFacePipeline(
        pipeline=inner,
        model_id=model_files.source,
        model_kwargs=dict(model_files.kwargs),
        pipeline_kwargs={"return_full_text": False},
        batch_size=1,
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
