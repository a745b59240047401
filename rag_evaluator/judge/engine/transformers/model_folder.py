"""What can be told of a judge's model before it is loaded: where it is, and whether it can judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.adapter_folder import AdapterFolder, refuse_adapter_files
from rag_evaluator.judge.engine.transformers.merging import check_base, find_adapter
from rag_evaluator.judge.engine.transformers.quantised import check_quantisation, with_quantisation
from rag_evaluator.judge.engine.transformers.templates import check_template
from rag_evaluator.models.hub import find_model, read_settings

ENCODERS = frozenset(  # model types that read in both directions unless their configuration says is_decoder
    "albert bert big_bird camembert data2vec-text deberta deberta-v2 distilbert electra ernie esm eurobert "
    "megatron-bert modernbert mpnet nomic_bert rembert roberta roberta-prelayernorm roc_bert roformer xlm-roberta "
    "xlm-roberta-xl xmod".split()
)
CAUSAL = "the judge needs a decoder-only (causal) language model such as Llama, Qwen or Mistral."
WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True)
class FoundModel:
    """A model that can be loaded, as far as can be told without loading it.

    Attributes:
        source: its folder, or a hub id.
        kwargs: of from_pretrained. Any: whatever the user gave.
        adapter: what is to be merged into it.
    """

    source: str
    kwargs: Mapping[str, Any]
    adapter: AdapterFolder | None


def find_judge(config: JudgeConfig, offline: bool = True) -> FoundModel:
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
    return FoundModel(source, kwargs, adapter)


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


def refuse_gguf(model: Path, needed: Sequence[str]) -> None:
    """Raises `ModelError` for a GGUF file, and for a folder that holds such files in place of what is needed.

    Args:
        needed: patterns of files; one of them is enough.
    """
    files = sorted(path.name for path in model.glob("*.gguf")) if model.is_dir() else []
    if model.suffix.lower() != ".gguf" and (not files or any(any(model.glob(pattern)) for pattern in needed)):
        return
    what = f"holds a GGUF file ({files[0]}) in place of weights" if files else "is a GGUF file"
    raise ModelError(
        f"judge.model: {model} {what}, which llama.cpp runs, not transformers or vLLM. Start llama.cpp's llama-server "
        "with it, set judge.engine: server and judge.url, and give as judge.model the folder that it was made from "
        "(config.json and tokenizer are read). Or judge with that folder itself: the original with *.safetensors."
    )


def _check_files(folder: Path, safetensors: bool) -> None:
    """Tokenizer and weights."""
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
