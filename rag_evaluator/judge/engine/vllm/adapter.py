"""LoRA adapters that a vLLM server adds to a base model: what it is started with."""

import json
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.config_engines import MERGE
from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.adapter_folder import SETTINGS, AdapterFolder

ADAPTED = "judge-adapter"  # name of base and adapter together, on the server
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that `--max-lora-rank` takes


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
        given = AdapterFolder.of(config, "vLLM")
        return None if given is None else cls(given.folder, _rank(given))

    @property
    def arguments(self) -> list[str]:
        """What a server is started with."""
        most = next(rank for rank in RANKS if rank >= self.rank)
        module = json.dumps({"name": ADAPTED, "path": str(self.folder)})
        return ["--enable-lora", "--max-lora-rank", str(most), "--lora-modules", module]


def _rank(adapter: AdapterFolder) -> int:
    folder, settings = adapter.folder, adapter.settings
    ranks = [settings.get("r"), *(settings.get("rank_pattern") or {}).values()]
    if not all(isinstance(rank, int) and rank > 0 for rank in ranks):
        raise ModelError(f"judge.adapter: {folder / SETTINGS} names no rank: 'r' is {settings.get('r')!r}.")
    highest: int = max(ranks)
    if highest > RANKS[-1]:
        raise ModelError(
            f"judge.adapter: {folder} has rank {highest}, and vLLM loads ranks up to {RANKS[-1]}. {MERGE}."
        )
    return highest
