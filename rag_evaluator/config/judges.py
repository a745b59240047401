"""What the configuration says of judges: those of a panel, and which keys each engine knows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from rag_evaluator.config.origin import Key, dotted
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.errors import ConfigError

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
        keys = OWN_KEYS.get(section.engine)
        if keys is None:
            continue
        for name in sorted(frozenset().union(*OWN_KEYS.values()) - keys):
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


LONGEST = 60  # letters of a name
NAME = re.compile(r"\w[\w.\- ]*(?<![. ])")


def _fit_for_columns(name: str) -> str:
    if len(name) > LONGEST or NAME.fullmatch(name) is None:
        raise ValueError(
            "the name of a judge becomes a folder and the end of column names: expected at most "
            f"{LONGEST} letters, digits, '_', '-', '.' and spaces, a letter or digit first, no space or dot last"
        )
    return name


class PanelJudge(JudgeConfig):
    """A judge of a panel: the keys of `judge`, and a name.

    Attributes:
        name: becomes a folder and a part of column names; null: that of the model's folder.
    """

    name: Annotated[str, AfterValidator(_fit_for_columns)] | None = None

    @property
    def alone(self) -> JudgeConfig:
        """The same as the only judge of a run."""
        return JudgeConfig.model_validate(self.model_dump(exclude={"name"}))


def name_judges(judges: Sequence[PanelJudge], place: Callable[..., str]) -> list[PanelJudge]:
    """The judges with their names. Raises `ConfigError` for a single judge, and for two of one name.

    Args:
        place: where a key was written.
    """
    if len(judges) == 1:
        raise ConfigError(
            f"{place('judges')}: 'judges' has one judge: expected two or more. For one judge set 'judge'."
        )
    named: list[PanelJudge] = []
    for position, judge in enumerate(judges):
        name = judge.name or _name_of(judge.model)
        for before, other in enumerate(named):
            if (other.name or "").casefold() == name.casefold():
                raise ConfigError(
                    f"{place('judges', position)}: 'judges[{position}]' has the name '{name}', as judges[{before}] "
                    "has. Give each a 'name' of its own."
                )
        named.append(judge.model_copy(update={"name": name}))
    return named


def refuse_both(data: Mapping[str, Any], place: Callable[..., str]) -> None:
    """Raises `ConfigError` if both `judge` and `judges` are set.

    A `judge` with every key at its default counts as not set: a saved configuration and the project's config.yaml have
    it so.
    """
    defaults = JudgeConfig().model_dump(mode="json")
    if data.get("judges") and data.get("judge") is not None and data["judge"] != defaults:
        raise ConfigError(f"{place('judge')}: 'judge' and 'judges' are both set. Remove one of them.")


def refuse_panel(judges: Sequence[PanelJudge], task: str, place: Callable[..., str]) -> None:
    """Raises `ConfigError` if a task that asks one judge has a panel."""
    if judges:
        raise ConfigError(f"{place('judges')}: 'judges': {task} asks one judge. Set 'judge' in place of 'judges'.")


def _name_of(model: str) -> str:
    """The folder's name, or the last part of a hub id, without what no judge's name may have."""
    name = re.sub(r"[^\w.\- ]", "-", Path(model).name)[:LONGEST].strip("-. ")
    return name or "judge"
