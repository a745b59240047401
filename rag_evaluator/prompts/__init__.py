"""Prompts: English sources, packs of other languages, and what hands them to the metrics."""

from rag_evaluator.prompts.loading import CarryingPrompt, PackPrompt, choose_owners, find_packs, load_pack, load_prompts
from rag_evaluator.prompts.pack import ENGLISH, Key, Pack, pack_path, read_pack, to_json, write_pack
from rag_evaluator.prompts.sources import all_prompts, english_pack, export

__all__ = [
    "ENGLISH",
    "CarryingPrompt",
    "Key",
    "Pack",
    "PackPrompt",
    "all_prompts",
    "choose_owners",
    "english_pack",
    "export",
    "find_packs",
    "load_pack",
    "load_prompts",
    "pack_path",
    "read_pack",
    "to_json",
    "write_pack",
]
