"""LoRA adapters that a vLLM server adds to a base model: what is known of one before anything is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.config_engines import MERGE
from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.models.hub import contents_of

ADAPTED = "judge-adapter"  # name of base and adapter together, on the server
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that `--max-lora-rank` takes
SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"  # as peft names them


@dataclass(frozen=True)
class Adapter:
    """A LoRA adapter in a folder.

    Attributes:
        rank: highest of its layers.
    """

    folder: Path
    rank: int

    @classmethod
    def of(cls, config: JudgeConfig) -> "Adapter | None":
        """The configured adapter, None if there is none. Raises `ModelError` for one that vLLM cannot load."""
        if config.adapter is None:
            _check_model(Path(config.model))
            return None
        folder = Path(config.adapter)
        if not folder.is_dir():
            raise ModelError(f"judge.adapter: no such folder: {folder}. Give the folder of a LoRA adapter.")
        for name in (SETTINGS, WEIGHTS):
            if not (folder / name).is_file():
                raise ModelError(
                    f"judge.adapter: {folder} has no {name}, as peft saves LoRA adapters. {contents_of(folder)}"
                )
        return cls(folder, _rank(folder, _settings(folder)))

    @property
    def arguments(self) -> list[str]:
        """What a server is started with."""
        most = next(rank for rank in RANKS if rank >= self.rank)
        module = json.dumps({"name": ADAPTED, "path": str(self.folder)})
        return ["--enable-lora", "--max-lora-rank", str(most), "--lora-modules", module]


def _check_model(folder: Path) -> None:
    """Refuse an adapter in place of a model. Raises `ModelError`."""
    if (folder / SETTINGS).is_file() and not (folder / "config.json").is_file():
        base = _settings(folder).get("base_model_name_or_path") or "the folder of its base model"
        raise ModelError(
            f"judge.model: {folder} holds an adapter without its model. Set judge.adapter: {folder}, and judge.model: "
            f"{base}."
        )


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"judge.adapter: {path} cannot be read as JSON: {error}.") from None
    if not isinstance(settings, dict):
        raise ModelError(f"judge.adapter: {path} is no JSON object.")
    return settings


def _rank(folder: Path, settings: dict[str, Any]) -> int:
    kind = settings.get("peft_type")
    if kind != "LORA":
        raise ModelError(f"judge.adapter: {folder} is a {kind!r} adapter, and vLLM loads 'LORA' only. {MERGE}.")
    ranks = [settings.get("r"), *(settings.get("rank_pattern") or {}).values()]
    if not all(isinstance(rank, int) and rank > 0 for rank in ranks):
        raise ModelError(f"judge.adapter: {folder / SETTINGS} names no rank: 'r' is {settings.get('r')!r}.")
    highest: int = max(ranks)
    if highest > RANKS[-1]:
        raise ModelError(
            f"judge.adapter: {folder} has rank {highest}, and vLLM loads ranks up to {RANKS[-1]}. {MERGE}."
        )
    return highest
