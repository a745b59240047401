"""Folders of models and LoRA adapters: what is known of them, and what is refused, before anything is loaded."""

from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.config import MERGE, JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.files import Json
from rag_evaluator.hub import contents_of, fingerprint, read_settings

SETTINGS = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
FILES = (SETTINGS, WEIGHTS, "adapter_model.bin")


@dataclass(frozen=True)
class AdapterFolder:
    """A LoRA adapter.

    Attributes:
        settings: of `adapter_config.json`. Any: JSON.
    """

    folder: Path
    settings: Json

    @classmethod
    def of(cls, config: JudgeConfig, loader: str) -> "AdapterFolder | None":
        """The configured adapter, None if there is none. Raises `ModelError` for one that cannot be loaded.

        Args:
            loader: what would load it, named in errors.
        """
        if config.adapter is None:
            return None
        folder = Path(config.adapter)
        if not folder.is_dir():
            raise ModelError(f"judge.adapter: no such folder: {folder}. Give the folder of a LoRA adapter.")
        for name in (SETTINGS, WEIGHTS):
            if not (folder / name).is_file():
                raise ModelError(
                    f"judge.adapter: {folder} has no {name}, as peft saves LoRA adapters. {contents_of(folder)}"
                )
        settings = read_settings(folder / SETTINGS, "judge.adapter")
        if (kind := settings.get("peft_type")) != "LORA":
            raise ModelError(f"judge.adapter: {folder} is a {kind!r} adapter, and {loader} loads 'LORA' only. {MERGE}.")
        return cls(folder, settings)

    @property
    def base(self) -> str:
        """The model that it was trained on, as its settings name it."""
        return str(self.settings.get("base_model_name_or_path") or "the model that it was trained on")


def adapter_part(config: JudgeConfig) -> dict[str, str]:
    """What the signature of scores says of the adapter: a fingerprint of its files, no path."""
    return {"adapter": fingerprint(config.adapter)} if config.adapter else {}


def refuse_adapter_files(folder: Path) -> None:
    """Raises `ModelError` for an adapter: with peft transformers would load it with its model, without peft not."""
    adapter = next((name for name in FILES if (folder / name).is_file()), None)
    if adapter is None:
        return
    settings = read_settings(folder / SETTINGS, "judge.adapter") if (folder / SETTINGS).is_file() else {}
    base = AdapterFolder(folder, settings).base
    raise ModelError(
        f"judge.model: {folder} holds an adapter ({adapter}). Set judge.adapter to this folder, and judge.model to "
        f"{base}. If it is merged into the model beside it, move the adapter's files away."
    )
