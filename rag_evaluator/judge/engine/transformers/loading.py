"""Loads the generative model from disk through langchain's `HuggingFacePipeline`, with errors that say what to do."""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config_engines import MERGE
from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.transformers.chat import check_template
from rag_evaluator.models.hub import find_model, load_failure, loading
from rag_evaluator.offline import hub

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline


ENCODERS = frozenset(  # model types that read in both directions unless their configuration says is_decoder
    "albert bert big_bird camembert data2vec-text deberta deberta-v2 distilbert electra ernie esm eurobert "
    "megatron-bert modernbert mpnet nomic_bert rembert roberta roberta-prelayernorm roc_bert roformer xlm-roberta "
    "xlm-roberta-xl xmod".split()
)
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
FILL = 0.8  # of a GPU's free memory for the weights
NOT_LOADED = re.compile(r"^(\S+)\s*\|\W*(?:\[\d+m)?(?:MISSING|MISMATCH)")  # a line of transformers' load report


def find_judge(config: JudgeConfig, offline: bool = True) -> str:
    """Folder or hub id of the judge's model, after all checks that need not load it. Raises `ModelError`."""
    check_adapter(Path(config.model))
    source = find_model(config.model, offline)
    _check_folder(Path(source), bool(_model_kwargs(config, offline)["use_safetensors"]))
    check_template(config.chat_template, Path(source))
    return source


def load_pipeline(config: JudgeConfig, offline: bool = True) -> "HuggingFacePipeline":
    """The judge's model and tokenizer as a `text-generation` pipeline.

    Weights must be safetensors and no code from the model's folder is run, unless `model_kwargs` says otherwise.
    Raises `ModelError` for a model that cannot judge.
    """
    source = find_judge(config, offline)
    from langchain_huggingface import HuggingFacePipeline

    try:
        with loading(config.model), hub(offline), _load_report() as report:
            pipeline = HuggingFacePipeline.from_model_id(
                model_id=source,
                task="text-generation",
                device_map=_device_map(config, Path(source)),  # dicts work, too
                model_kwargs=_model_kwargs(config, offline),
                pipeline_kwargs={"return_full_text": False},
                batch_size=config.in_flight,
            )
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        from rag_evaluator.judge.engine.transformers.memory import out_of_memory

        if out_of_memory(error):
            raise ModelError(_too_little_memory(config)) from error
        raise ModelError(f"judge.model: {source} cannot be loaded: {load_failure(error)}") from error
    if missing := [match[1] for line in report if (match := NOT_LOADED.match(line))]:
        named = ", ".join(missing[:3])
        raise ModelError(
            f"judge.model: {source} lacks {len(missing)} of the model's weights ({named}); it would judge at random. "
            "Take a complete checkpoint of a causal language model."
        )
    return pipeline


def load_tokenizer(config: JudgeConfig, offline: bool = True) -> Any:
    """The judge's fast tokenizer without its model. Raises `ModelError`. Any: transformers gives no common type."""
    source = find_judge(config, offline)
    from transformers import AutoTokenizer

    try:
        with hub(offline):
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=offline)
    except Exception as error:  # each kind of tokenizer raises errors of its own
        raise ModelError(f"judge.model: the tokenizer of {source} cannot be loaded: {load_failure(error)}") from error
    check_tokenizer(tokenizer)
    return tokenizer


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


def _model_kwargs(config: JudgeConfig, offline: bool) -> dict[str, Any]:
    """Arguments of from_pretrained; the user's win."""
    safe = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": offline}
    return {**safe, "dtype": config.dtype, **config.model_kwargs}


def check_model(model: Any, tokenizer: Any) -> None:
    """Refuse what loads but cannot judge. Raises `ModelError`."""
    if getattr(model.config, "is_encoder_decoder", False):
        raise ModelError(_ENCODER_DECODER.format(model=model.config.model_type))
    _check_direction(getattr(model, "name_or_path", "") or "the model", model.config.to_dict())
    check_tokenizer(tokenizer)


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer that is no fast one. Raises `ModelError`."""
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        kind = type(tokenizer).__name__
        raise ModelError(f"judge.model: {kind} is no fast tokenizer. Convert it to a tokenizer.json once, and save it.")


def window_of(config: Any, tokenizer: Any) -> int:
    """Tokens of prompt and answer together that a model can read; the smaller of what its files say."""
    text_config = config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    sizes = [getattr(text_config, name, None) for name in names] + [tokenizer.model_max_length]
    known = [size for size in sizes if isinstance(size, int) and 0 < size < 10**9]
    return min(known) if known else 10**9


_CAUSAL = "the judge needs a decoder-only (causal) language model such as Llama, Qwen or Mistral."
_ENCODER_DECODER = "judge.model: this is an encoder-decoder model ({model}); " + _CAUSAL


def _check_direction(name: str, config: Mapping[str, Any]) -> None:
    """Refuse encoders: transformers loads some of them as decoders, which they were never trained to be."""
    architectures = config.get("architectures") or []
    masked = any(str(architecture).endswith("ForMaskedLM") for architecture in architectures)
    if masked or (config.get("model_type") in ENCODERS and not config.get("is_decoder")):
        kind = ", ".join([str(config.get("model_type")), *map(str, architectures)])
        raise ModelError(f"judge.model: {name} is an encoder ({kind}), which cannot write answers; {_CAUSAL}")


def check_adapter(folder: Path) -> None:
    """Refuse an adapter: with peft installed transformers would load it with its model, without peft it would not."""
    adapter = next((name for name in ADAPTERS if (folder / name).is_file()), None)
    if adapter is None:
        return
    if (folder / "config.json").is_file():
        raise ModelError(
            f"judge.model: {folder} holds an adapter ({adapter}) beside a model, and it is not clear whether it "
            "counts. Merge it into the model with peft's merge_and_unload() and save_pretrained(), or move the "
            "adapter's files away."
        )
    raise ModelError(
        f"judge.model: {folder} holds an adapter ({adapter}) without its model. {MERGE}, and give the folder "
        "of the result."
    )


def _check_folder(folder: Path, safetensors: bool) -> None:
    """What can be seen without loading: kind of model, tokenizer, weights."""
    if not folder.is_dir():
        return
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"judge.model: {folder}/config.json cannot be read as JSON: {error}.") from None
    if not isinstance(config, dict):
        raise ModelError(f"judge.model: {folder}/config.json is no JSON object.")
    if config.get("is_encoder_decoder"):
        raise ModelError(_ENCODER_DECODER.format(model=config.get("model_type", "unknown")))
    _check_direction(str(folder), config)
    check_adapter(folder)  # of a model in the cache
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        raise ModelError(
            f"judge.model: {folder} has no tokenizer (tokenizer.json). Copy the model's tokenizer files there."
        )
    if safetensors and not list(folder.glob("*.safetensors")):
        others = sorted(path.name for path in folder.glob("*.bin"))
        contents = f"It has {', '.join(others)}" if others else "It has no weights at all"
        raise ModelError(
            f"judge.model: {folder} has no *.safetensors file. {contents}. Convert the weights with "
            "save_pretrained(), or, if you trust the file, set judge.model_kwargs: {use_safetensors: false}."
        )


def _device_map(config: JudgeConfig, folder: Path) -> Any:
    """The configured device map; `auto` is one GPU where the model fits one, since each GPU more makes passes wait.

    Of the free memory of a GPU the weights may fill `FILL`; the rest is for keys and values.
    """
    import torch

    if not torch.accelerator.is_available():
        return None
    if config.device_map != "auto" or not torch.cuda.is_available() or torch.cuda.device_count() < 2:
        return config.device_map
    free = [torch.cuda.mem_get_info(device)[0] for device in range(torch.cuda.device_count())]
    needed = weight_bytes(folder, config.dtype)
    return {"": free.index(max(free))} if 0 < needed <= FILL * max(free) else "auto"


def weight_bytes(folder: Path, dtype: str) -> int:
    """Bytes of a folder's weights once they are loaded, from the headers of its safetensors; 0 if there are none."""
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
    loaded = {"float32": 4, "bfloat16": 2, "float16": 2}.get(dtype)
    total = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        for name, tensor in header.items():
            if name != "__metadata__":
                start, end = tensor["data_offsets"]
                saved = sizes.get(tensor["dtype"])  # quantised weights stay as they are
                total += (end - start) * loaded // saved if loaded and saved else end - start
    return total


def _too_little_memory(config: JudgeConfig) -> str:
    return (
        f"judge.model: too little memory to load {config.model}. Use a smaller model, judge.dtype: bfloat16, or "
        "quantised weights."
    )
