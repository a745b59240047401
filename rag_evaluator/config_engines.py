"""Which keys of a judge belong to which engine: a key that the chosen engine does not read is an error, not a wish."""

from collections.abc import Callable, Iterable, Mapping

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ConfigError
from rag_evaluator.origin import Key, dotted

OWN_KEYS: Mapping[str, frozenset[str]] = {
    "transformers": frozenset({"dtype", "device_map", "model_kwargs", "adapter"}),
    "server": frozenset({"url", "api_key_env", "served_model", "dialect"}),
    "vllm": frozenset({"vllm", "dtype", "adapter"}),
}
"""Engine -> the keys that not every engine reads; engines that are not listed read all."""
NEEDED: Mapping[str, str] = {"server": "url"}
"""Engine -> the key that it cannot do without."""
WHY: Mapping[str, str] = {
    "dtype": "the server has loaded the model",
    "device_map": "the server has loaded the model",
    "model_kwargs": "the server has loaded the model",
    "adapter": "the server has loaded the model",
}
MERGE = "Merge it into its base model with peft's merge_and_unload() and save_pretrained()"
INSTEAD: Mapping[str, str] = {"adapter": f"{MERGE}, and serve the result"}
"""Key -> what to do in place of setting it, if not just to leave it out."""


def check_engine_keys(judges: Iterable[tuple[Key, JudgeConfig]], place: Callable[..., str]) -> None:
    """Raises `ConfigError` for keys of another engine, and for one that is missing.

    Args:
        judges: each with its key in the configuration. Keys at their defaults count as not set: a saved configuration
            has them all.
        place: where a key was written.
    """
    defaults = JudgeConfig()
    for key, section in judges:
        own = OWN_KEYS.get(section.engine)
        if own is None:
            continue
        for name in sorted(frozenset().union(*OWN_KEYS.values()) - own):
            if getattr(section, name) != getattr(defaults, name):
                owners = " or ".join(repr(engine) for engine, keys in OWN_KEYS.items() if name in keys)
                why = f", as {WHY[name]}" if section.engine == "server" and name in WHY else ""
                raise ConfigError(
                    f"{place(*key, name)}: '{dotted((*key, name))}' does not apply to the engine '{section.engine}'"
                    f"{why}. {INSTEAD.get(name, 'Remove it')}, or set {dotted((*key, 'engine'))} to {owners}."
                )
        needed = NEEDED.get(section.engine)
        if needed is not None and getattr(section, needed) is None:
            raise ConfigError(
                f"{place(*key, 'engine')}: '{dotted((*key, needed))}' is missing, which the engine '{section.engine}' "
                "needs. Give the server's address, for instance http://127.0.0.1:8000/v1 or unix:/run/judge.sock."
            )
