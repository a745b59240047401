"""Features: the folders in `rag_evaluator/features`, found by listing. What each adds stands in its `feature.py`.

The core asks here and imports no feature: a folder that is deleted is a feature that is not there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal

from rag_evaluator.resources import PACKAGE, packaged

FOLDER = PACKAGE / "features"
MODULE = "rag_evaluator.features"
Group = Literal["main job", "more", "cluster"]
Hook = Literal["check", "end", "rewrite", "report", "useful", "doubts"]
Situation = Literal["no configuration", "sample", "judge not known", "many rows"]
RUN = "RUN"  # in the words of a command: the results folder


@dataclass(frozen=True)
class Command:
    """A command; functions are written as `module:name` and loaded when they are needed.

    Attributes:
        function: takes the options, and gives the exit code.
        arguments: adds the command to the parser, with its help; light, as every `--help` calls it.
        group: where `--help` lists it.
        stoppable: whether `function` also takes a `Stop`, and ends soon after a first signal.
        continued: whether the same command continues one that was stopped, as all do that are stoppable.
        long: whether it may take longer than some seconds and asks nothing, as all do that are continued.
    """

    function: str
    arguments: str
    group: Group = "more"
    stoppable: bool = False
    continued: bool = False
    long: bool = False


@dataclass(frozen=True)
class Task:
    """Something that workers share: a stage with a journal.

    Attributes:
        stage: makes the stage from its journal, to write the results of.
        is_submitted: whether `submit` hands it to Slurm: its command has the task's name, and takes a configuration.
    """

    stage: str
    is_submitted: bool = True


@dataclass(frozen=True)
class Feature:
    """What a feature adds.

    Attributes:
        commands: by name, as the user types it; it may have two words.
        tasks: by name.
        sections: of the configuration: key -> a `Section` whose defaults hold where the key is missing.
        keys: of the configuration, beside its own: a `Section` that has them; no score depends on them.
        prompts: owner -> a table as `OWN_PROMPTS`; packs are in its folders `prompts` and `orig_prompts`.
        hooks: functions that the core calls:
            check: (config), raises `ConfigError` before a model is loaded.
            end: (config, folder of the finished run) -> key in the JSON of `evaluate` -> lines that it says, or None.
            rewrite: (folder, new files), completes the new `summary.json` by what the folder has.
            report: (run) -> what is known of the judge, as HTML; empty: nothing.
            useful: (run) -> metrics of which the judge is known to be useful.
            doubts: (run, metrics) -> sentences that speak against these scores.
        next: situation -> words of the command that is typed next.
        requirements: word in `require`, for which `gate` has an option, too -> function: (run, metrics) -> metric ->
            whether it has what the word says, and what is known or missing.
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    keys: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[Hook, str] = field(default_factory=dict)
    next: Mapping[Situation, Sequence[str]] = field(default_factory=dict)
    requirements: Mapping[str, str] = field(default_factory=dict)


@cache
def all_features() -> Mapping[str, Feature]:
    """Name of the folder -> what it adds."""
    names = sorted(module.name for module in iter_modules([str(FOLDER)]) if module.ispkg)
    return {name: load(f"{MODULE}.{name}.feature:FEATURE") for name in names}


def hooks(name: Hook) -> Iterator[Callable[..., Any]]:
    """Return the functions of features under a name of `Feature.hooks`. Any: each hook has its own values."""
    rows = (feature.hooks.get(name) for feature in all_features().values())
    return map(load, filter(None, rows))


def requirements() -> dict[str, str]:
    """Return what features let `gate` require: word -> function."""
    return {word: function for feature in all_features().values() for word, function in feature.requirements.items()}


def next_words(situation: Situation, folder: object = RUN) -> Sequence[object]:
    """Return the words of the command that a feature has for a situation; none where no feature has one."""
    rows = (feature.next[situation] for feature in all_features().values() if situation in feature.next)
    return [folder if word == RUN else word for word in next(rows, ())]


def pack_folders(name: str) -> list[Path]:
    """Return the folders of packs that come with the program: of the core, then of features.

    Args:
        name: `prompts` or `orig_prompts`.
    """
    return [packaged(name), *(FOLDER / folder / name for folder, row in all_features().items() if row.prompts)]


def prompt_owners() -> list[str]:
    """Return the owners of prompts of features."""
    return [owner for feature in all_features().values() for owner in feature.prompts]


def load(reference: str) -> Any:
    """What `module:name` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
