"""Loads the generative model and its adapter as langchain's `HuggingFacePipeline`, after checks of their files."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from rag_evaluator.config import JudgeConfig, hub
from rag_evaluator.errors import ModelError
from rag_evaluator.files import ACTIVITY, GgufHeader, Json, JsonDict, gguf_of, read_header, saved_tensors
from rag_evaluator.hub import find_model, in_one_line, load_failure, main_memory, read_settings
from rag_evaluator.judge.encoding.chat import PLACE, PromptEncoder, check_template, read_tokenizer
from rag_evaluator.judge.engines.folders import AdapterFolder, refuse_adapter_files

from .gguf import check_gguf, complete_rope, keep_own_tokens, kept_folder, save_unpacked, unpacking

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline
    from transformers import PreTrainedModel

FILL = 0.8  # of a GPU's free memory for the weights
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
KEY = "quantization_config"
LOADED = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
ANYWHERE = ("auto", "balanced", "balanced_low_0", "sequential", "cpu", "disk", "None")  # places without a GPU, too
UNPACKED = "bfloat16"  # the dtype of GGUF weights where judge.dtype is auto
CAUSAL = "the judge needs a decoder-only (causal) language model such as Llama, Qwen or Mistral."


def weight_bytes(source: Path, dtype: str) -> int:
    """Bytes of weights once they are loaded, from the headers of GGUF or safetensors; 0 if there are none."""
    if (file := gguf_of(source)) is not None:
        return read_header(file).parameters * LOADED[UNPACKED if dtype == "auto" else dtype]
    loaded = LOADED.get(dtype)
    total = 0
    for tensor in saved_tensors(source):
        size = tensor["data_offsets"][1] - tensor["data_offsets"][0]
        saved = LOADED.get(DTYPES.get(tensor["dtype"], ""))  # quantised weights stay as they are
        total += size * loaded // saved if loaded and saved else size
    return total


def parameters_of(config: JudgeConfig, offline: bool = True) -> int:
    """How many parameters the judge's model has, by its files; 0: not known. Raises `ModelError` without a model."""
    return weight_bytes(Path(find_source(config, offline)), "float32") // LOADED["float32"]


def device_map(config: JudgeConfig, folder: Path) -> Any:
    """The configured device map; `auto` is one GPU where the model fits one, since each GPU more makes passes wait.

    Of the free memory of a GPU the weights may fill `FILL`; the rest is for keys and values. Any: a name, a dict or
    None, as accelerate takes them. Raises `ModelError` where it names a device that is not here.
    """
    import torch

    counted = torch.cuda if torch.cuda.is_available() else torch.accelerator
    devices = counted.device_count()
    places = config.device_map
    for place in places.values() if isinstance(places, dict) else [places]:
        kind, _, number = (f"cuda:{place}" if isinstance(place, int) else str(place)).partition(":")
        is_here = (number or "0").isdecimal() and int(number or 0) < devices
        if kind not in ANYWHERE and not is_here:
            raise ModelError(
                f"judge.device_map is {places!r}, and this machine has {devices} GPUs that torch can use. Run it where "
                "they are, or set judge.device_map: auto."
            )
    if not torch.accelerator.is_available():
        return None
    free = _free_of_gpus()
    if places != "auto" or len(free) < 2:
        return places
    needed = weight_bytes(folder, config.dtype)
    return {"": free.index(max(free))} if 0 < needed <= FILL * max(free) else "auto"


def _free_of_gpus() -> list[int]:
    """Return the free bytes of each GPU."""
    import torch

    return [int(torch.cuda.mem_get_info(device)[0]) for device in range(torch.cuda.device_count())]


@dataclass(frozen=True)
class Memory:
    """Bytes.

    Attributes:
        weights: once they are loaded; 0 where they are not known.
        gpus: free on all GPUs together; 0 without one.
        main: free main memory.
        file: size of the GGUF file that they are unpacked from; 0 of other models.
    """

    weights: int
    gpus: int
    main: int
    file: int = 0


def memory_of(config: JudgeConfig, offline: bool) -> Memory:
    """Raises `ModelError` if the model is not there."""
    source = Path(find_source(config, offline))
    weights = weight_bytes(source, config.dtype)
    file = source.stat().st_size if source.is_file() else 0
    return Memory(weights, sum(_free_of_gpus()), main_memory()[1], file)


def merge_adapter(model: "PreTrainedModel", adapter: AdapterFolder) -> "PreTrainedModel":
    """The model with the adapter's weights added to its own. Raises `ModelError` if they do not fit."""
    from peft import PeftConfig, PeftModel

    try:
        settings = PeftConfig.from_pretrained(str(adapter.folder))
        settings.inference_mode = True
        both = PeftModel(model, settings)
        loaded = both.load_adapter(str(adapter.folder), "default")
        result: PreTrainedModel = both.merge_and_unload(safe_merge=True)
    except Exception as error:  # torch, safetensors and peft each raise kinds of their own
        raise _not_for_this(adapter, in_one_line(error)) from error
    unused = (loaded.unexpected_keys, "the model has no layer for"), (loaded.missing_keys, "the adapter lacks")
    for names, what in unused:
        if names:
            raise _not_for_this(adapter, f"{what} {len(names)} weights ({', '.join(sorted(names)[:3])})")
    result.peft_config = settings  # it is not the model of its folder any more
    return result


def _not_for_this(adapter: AdapterFolder, why: str) -> ModelError:
    return ModelError(
        f"judge.adapter: {adapter.folder} does not fit judge.model: {why}. Give the model that it was trained on "
        f"({adapter.base}), or the adapter's own files once more."
    )


@dataclass(frozen=True)
class ModelFiles:
    """A model that can be loaded, as far as can be known without loading it.

    Attributes:
        source: its folder, its GGUF file, or a hub id.
        kwargs: of from_pretrained. Any: whatever the user gave.
        adapter: what is to be merged into it.
        gguf: the header of its GGUF file, if it is one.
    """

    source: str
    kwargs: Json
    adapter: AdapterFolder | None
    gguf: GgufHeader | None

    @property
    def dtype(self) -> str:
        return str(self.kwargs["dtype"]).removeprefix("torch.")

    @property
    def bytes_loaded(self) -> int:
        """Bytes of the weights once they are loaded; of a dtype that is not known 4 for each of a GGUF file."""
        if self.gguf is None:
            return weight_bytes(Path(self.source), self.dtype)
        return self.gguf.parameters * LOADED.get(self.dtype, 4)


def find_source(config: JudgeConfig, offline: bool) -> str:
    """The model's folder, its GGUF file, or its hub id. Raises `ModelError`."""
    if (file := gguf_of(config.model)) is not None:
        return str(file)
    source = find_model(config.model, offline)
    return str(gguf_of(source) or source)  # of a model in the cache


def find_judge(config: JudgeConfig, offline: bool = True) -> ModelFiles:
    """The judge's model, after all checks that need not load it. Raises `ModelError`."""
    adapter = AdapterFolder.of(config, "the engine transformers")
    if adapter is not None and find_spec("peft") is None:
        raise ModelError(
            "judge.adapter: to merge an adapter needs the package peft: pip install peft. Or merge it elsewhere with "
            "merge_and_unload() and save_pretrained(), and give the folder of the result as judge.model."
        )
    refuse_adapter_files(Path(config.model))
    source = find_source(config, offline)
    safe = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": offline}
    folder = Path(source)
    kwargs = {**safe, "dtype": config.dtype, **config.model_kwargs}
    model: Json = {}
    if folder.is_dir():
        refuse_adapter_files(folder)  # of a model in the cache
        model = read_settings(folder / "config.json", "judge.model")
        check_direction(str(folder), model)
        _check_files(folder, bool(kwargs["use_safetensors"]))
    gguf = check_gguf(folder) if gguf_of(source) else None
    if gguf is not None and kwargs["dtype"] == "auto":
        kwargs["dtype"] = UNPACKED
    of_text = model.get("text_config") or {}
    if adapter is not None and (gguf is not None or any(KEY in settings for settings in (model, of_text, kwargs))):
        raise ModelError(
            f"judge.adapter: the weights of {folder} are or will be quantised, and an adapter merged into them would "
            f"not be the one that was trained. Take the base model without quantisation ({adapter.base}), or judge "
            "with engine: vllm, which loads the adapter beside the weights."
        )
    check_template(config.chat_template)
    return ModelFiles(source, kwargs, adapter, gguf)


def dtype_of(config: JudgeConfig, offline: bool) -> str:
    """The dtype that the model is loaded in, where the configuration leaves it open, too. Raises `ModelError`."""
    found = find_judge(config, offline)
    folder = Path(found.source)
    dtype = found.dtype
    if dtype != "auto" or not folder.is_dir():
        return "as saved" if dtype == "auto" else dtype
    settings = read_settings(folder / "config.json", "judge.model")
    of_text = settings.get("text_config") or {}
    named = next((part[key] for part in (settings, of_text) for key in ("dtype", "torch_dtype") if part.get(key)), None)
    saved = (tensor["dtype"] for tensor in saved_tensors(folder))
    return str(named or next((DTYPES[dtype] for dtype in saved if dtype in DTYPES), "float32"))


def check_direction(name: str, model: Json) -> None:
    """Refuse what reads in both directions: transformers loads some encoders as decoders, which they are not.

    Args:
        model: the model's `config.json`.
    """
    text = model.get("text_config")
    if model.get("is_encoder_decoder") or (isinstance(text, Mapping) and text.get("is_encoder_decoder")):
        kind = model.get("model_type", "unknown")
        raise ModelError(f"judge.model: this is an encoder-decoder model ({kind}); {CAUSAL}")
    architectures = model.get("architectures") or []
    if any(str(architecture).endswith(("ForMaskedLM", "ForPreTraining")) for architecture in architectures):
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
    weight_bytes(folder, "auto")  # reads what stands before them


@contextmanager
def _pretrained(files: ModelFiles, keep: bool) -> Iterator[tuple[str, JsonDict]]:
    """What from_pretrained takes: a folder or hub id, and the arguments.

    Args:
        keep: whether an unpacked GGUF file is kept, see `kept_folder`.
    """
    header = files.gguf
    if header is None:
        yield files.source, dict(files.kwargs)
        return
    write = partial(_unpack, files)
    if keep and (folder := kept_folder(header, files.dtype, files.bytes_loaded, write)):
        yield str(folder), dict(files.kwargs)
        return
    with unpacking(header, files.kwargs) as arguments:
        yield arguments


def _unpack(files: ModelFiles, folder: Path) -> None:
    assert files.gguf is not None
    kwargs = {name: value for name, value in files.kwargs.items() if name in (*PLACE, "dtype")}
    with unpacking(files.gguf, kwargs) as (empty, arguments):
        tokenizer = read_tokenizer(empty, **arguments)
        keep_own_tokens(tokenizer, files.gguf)
        save_unpacked(_with_all_weights(files.source, empty, arguments), tokenizer, folder)


def _refuse_too_large(files: ModelFiles) -> None:
    """Raise `ModelError` where main memory, or what a cgroup gives of it, cannot hold the weights in any case."""
    import torch

    if torch.accelerator.is_available() or KEY in files.kwargs or not Path(files.source).exists():
        return
    needed = files.bytes_loaded
    total, _ = main_memory()
    if needed > total:
        raise ModelError(
            f"judge.model: the weights of {files.source} take {decimal(needed)}, and this process may have "
            f"{decimal(total)} of memory. Take a smaller model, or a server that keeps weights packed: docs/engines.md."
        )


def load_pipeline(config: JudgeConfig, offline: bool = True) -> "HuggingFacePipeline":
    """The judge's model, with its adapter if it has one, and its tokenizer as a `text-generation` pipeline.

    Weights must be safetensors and no code from the model's folder is run, unless `model_kwargs` says otherwise.
    Raises `ModelError` for a model that cannot judge.
    """
    model_files = find_judge(config, offline)
    _refuse_too_large(model_files)
    try:
        source = model_files.source
        gguf = model_files.gguf
        phase = ACTIVITY.phase(f"loading {config.model}")
        with phase, hub(offline), _pretrained(model_files, config.keep_unpacked) as (folder, kwargs):
            from langchain_huggingface import HuggingFacePipeline
            from transformers import pipeline

            kwargs = {"device_map": device_map(config, Path(source)), **kwargs}
            tokenizer = read_tokenizer(folder, **kwargs)
            if gguf is not None:
                keep_own_tokens(tokenizer, gguf)
            if config.thinking == "on":  # whether the model can is known before its weights are read
                PromptEncoder(tokenizer, config)
            model = _load_model(model_files, folder, kwargs)
            inner = pipeline("text-generation", model=model, tokenizer=tokenizer, return_full_text=False)
            return HuggingFacePipeline(
                pipeline=inner,
                model_id=source,
                model_kwargs=dict(model_files.kwargs),
                pipeline_kwargs={"return_full_text": False},
                batch_size=1,  # in batches many tokenizers pad on the wrong side, or not at all
            )
    except ModelError:
        raise
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        from .decoder import out_of_memory

        if out_of_memory(error):
            raise ModelError(
                f"judge.model: too little memory to load {config.model}. Use a smaller model, judge.dtype: bfloat16, "
                "or quantised weights."
            ) from error
        raise ModelError(f"judge.model: {model_files.source} cannot be loaded: {load_failure(error)}") from error


def _load_model(model_files: ModelFiles, folder: str, kwargs: JsonDict) -> "PreTrainedModel":
    """The model on its devices, complete. Raises `ModelError`, and what libraries raise.

    Args:
        folder: what from_pretrained reads, or a hub id.
    """
    source = model_files.source
    model = _with_all_weights(source, folder, kwargs)
    if model_files.gguf is not None:
        complete_rope(model, model_files.gguf)
    model.name_or_path = source
    refuse_offloaded(source, getattr(model, "hf_device_map", None) or {})
    return model if model_files.adapter is None else merge_adapter(model, model_files.adapter)


def _with_all_weights(source: str, folder: str, kwargs: JsonDict) -> "PreTrainedModel":
    """The model as transformers loads it. Raises `ModelError` where it lacks some of its weights."""
    model: PreTrainedModel
    model, report = _loader(folder, kwargs).from_pretrained(folder, output_loading_info=True, **kwargs)
    if missing := sorted({*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}):
        named = ", ".join(missing[:3])
        raise ModelError(
            f"judge.model: {source} lacks {len(missing)} of the model's weights ({named}); it would judge at random. "
            "Take a complete checkpoint of a causal language model."
        )
    return model


def refuse_offloaded(source: str, places: Json) -> None:
    """Raises `ModelError` for a model of which parts are copied to its device at every step, from memory or disk.

    Args:
        places: part of the model -> its device, as accelerate has it.
    """
    kinds = {part: str(place).partition(":")[0] for part, place in places.items()}
    computing = any(kind not in ("cpu", "disk") for kind in kinds.values())
    away = sorted(part for part, kind in kinds.items() if kind == "disk" or (kind == "cpu" and computing))
    if away:
        raise ModelError(
            f"judge.model: {source} does not fit its device: {len(away)} of its {len(places)} parts ({away[0]}, for "
            "instance) would be copied to it for every token. Take a smaller or quantised model, more GPUs, or set "
            "judge.device_map: cpu."
        )


def _loader(source: str, kwargs: JsonDict) -> Any:
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
    kind = type(kwargs.get("config") or AutoConfig.from_pretrained(source, **place))
    with_pictures = kind in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING and kind not in MODEL_FOR_CAUSAL_LM_MAPPING
    return AutoModelForImageTextToText if with_pictures else AutoModelForCausalLM
