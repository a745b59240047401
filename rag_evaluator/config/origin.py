"""Where each value of a configuration was written: a line of the YAML file, `--set`, or Python."""

import difflib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import ErrorDetails

from rag_evaluator.errors import ConfigError

Key = tuple[str | int, ...]
MODEL = "model"  # a key of the sections that name one
# YAML reads no, 2024 and 1e3 as other things than text
QUOTES = """ Put it in quotes: KEY: "VALUE", or --set 'KEY="VALUE"' in a shell."""


@dataclass(frozen=True)
class Origin:
    """Names the place of a key in messages.

    Attributes:
        name: the file, or what is used in its place.
        root: the file's YAML, which knows the lines; None where there is no file.
        overrides: the keys of `--set`, in order.
    """

    name: str = "config"
    root: yaml.Node | None = field(default=None, compare=False, repr=False)
    overrides: Sequence[Key] = ()

    def place(self, *key: str | int) -> str:
        """`config.yaml, line 3`; `--set judge.seed` for a key that was set there; the name alone without a line."""
        for override in reversed(self.overrides):  # the last one wins
            if key[: len(override)] == override:
                return f"--set {dotted(override)}"
        line = _line(self.root, key)
        return self.name if line is None else f"{self.name}, line {line}"


class UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that occurs twice is an error: PyYAML would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        pairs = [
            key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"
        ]  # what is merged in may be replaced
        keys = [self.construct_object(key, deep=True) for key in pairs]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                line = pairs[position].start_mark.line + 1
                raise ConfigError(f"{self.name}, line {line}: key '{key}' occurs twice. Remove one of them.")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> tuple[dict[str, Any], Origin]:
    """The mapping of a YAML file, and where its values are. Raises `ConfigError`."""
    try:
        with path.open(encoding="utf-8") as file:
            loader = UniqueKeyLoader(file)
            loader.name = str(path.name)
            root = loader.get_single_node()
            data = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(
            f"{path.name}{line}: not valid YAML: {error.problem}. Check colons and indentation."
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path.name}: cannot be read as UTF-8 YAML: {error}. Save it as UTF-8 text.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path.name}: expected keys and values such as 'dataset: data.jsonl', got {data!r:.60}.")
    return data, Origin(path.name, root)


def apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> list[Key]:
    """Set `key.sub=value` in the mapping; returns the keys. Raises `ConfigError`."""
    return [_apply(data, override) for override in overrides]


def _apply(data: dict[str, Any], override: str) -> Key:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override!r}: expected key=value, for example --set judge.batch_size=8.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"--set {key}: the value {text!r} is not valid YAML ({error.__class__.__name__}). A value with spaces or "
            f"brackets needs quotes in a shell: --set metrics='[bleu, rouge]', --set columns='{{a: b}}'."
        ) from None
    *parents, last = parts = key.strip().split(".")
    for parent in parents:
        if data.get(parent) is None:  # a section without keys is None in YAML
            data[parent] = {}
        data = data[parent]
        if not isinstance(data, dict):
            raise ConfigError(f"--set {key}: '{parent}' is a value, not a section.")
    data[next((name for name in data if str(name) == last), last)] = value  # a name may be a number in YAML
    return tuple(parts)


def dotted(key: Key) -> str:
    """`judge.model`, `metrics[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")


def _line(root: yaml.Node | None, key: Key) -> int | None:
    """The line of a key or list item, from 1; of the section if it is not there; None if that is not there either."""
    line = None
    for part in key:
        pairs: list[tuple[yaml.Node, yaml.Node]] = []  # where a part of a section or list begins, and its value
        if isinstance(root, yaml.MappingNode):  # the last: what is merged in stands first and may be replaced
            pairs = [(name, value) for name, value in root.value if name.value == str(part)]
        elif isinstance(root, yaml.SequenceNode) and isinstance(part, int):
            pairs = [(item, item) for item in root.value[part : part + 1]]
        if not pairs:
            break
        at, root = pairs[-1]
        line = at.start_mark.line + 1
    return line


def explain(
    details: Sequence[ErrorDetails], data: Any, place: Callable[..., str], known: Sequence[Key], above: Key = ()
) -> Iterator[str]:
    """One line for each key that is wrong.

    Args:
        details: pydantic's errors; where a value may be of several kinds, one for each kind that it is not.
        data: what was checked. Any: whatever the user wrote.
        place: where a key was written, see `Origin.place`.
        known: every key.
        above: the key of `data` itself.
    """
    for key, errors in itertools.groupby(details, lambda detail: (*above, *_key_of(detail, data))):
        yield f"{place(*key)}: '{dotted(key)}' {_explain(key, list(errors), known)}"


def _key_of(detail: ErrorDetails, data: Any) -> Key:
    """The key of an error, without what pydantic adds: the kind that it tried, or that a key is meant."""
    if detail["type"] in ("extra_forbidden", "missing"):
        return detail["loc"]
    key: list[str | int] = []
    for part in detail["loc"]:
        if not (part in data if isinstance(data, Mapping) else isinstance(data, list) and isinstance(part, int)):
            break
        key = [*key, part]
        data = data[part]
    return tuple(key)


def _explain(key: Key, details: Sequence[ErrorDetails], known: Sequence[Key]) -> str:
    detail = details[0]
    if detail["type"] == "extra_forbidden":
        names: dict[str, str] = {}
        for other in sorted(known, key=lambda other: (other[:-1] != key[:-1], len(other))):  # this section first
            for name in (str(other[-1]), "_".join(map(str, other))):
                names.setdefault(name, dotted(other))
        names["llm"] = "judge"  # as other programs call it
        near = difflib.get_close_matches(str(key[-1]).lower(), names, n=1)
        section = ", ".join(str(other[-1]) for other in known if other[:-1] == key[:-1])
        return f"is not a known key.{f' Did you mean {names[near[0]]!r}?' if near else f' Known: {section}.'}"
    if detail["type"] == "missing":
        return "is missing. Add it; docs/config.md has every key."
    if detail["type"] == "model_type" and isinstance(detail["input"], str) and (*key, MODEL) in known:
        return f"is {detail['input']!r:.80}, and has keys of its own. Write {dotted((*key, MODEL))}: {detail['input']}."
    mistaken = detail["type"] == "string_type" and not isinstance(detail["input"], list | dict | None)
    return f"is {fault(details)}{QUOTES if mistaken else ''}"


def fault(details: Sequence[ErrorDetails]) -> str:
    """A value, and what was expected in its place."""
    expected = " or ".join(dict.fromkeys(_expected(detail["msg"]) for detail in details))
    return f"{details[0]['input']!r:.80}: {expected.removesuffix('.')}."


def _expected(message: str) -> str:
    own = message.removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}" if own == message else own
