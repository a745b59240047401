"""The judges that are compared: each a configuration of its own, checked before any model is loaded."""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.cli import refuse_wrong_paths
from rag_evaluator.config import ADDRESSES, Config, load_config
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import SUFFIX
from rag_evaluator.metrics import SUPPORT, Metrics, canonical_name, check_reported, chosen_metrics

from .figures import LENGTH

NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class NamedJudge:
    """A judge, or a verifier.

    Attributes:
        kind: the section of the configuration that names it: `judge` or `verifier`.
        config: of its run.
        chosen: the metrics that it scores.
        overrides: `--set` values by which the configuration becomes its own.
    """

    name: str
    kind: str
    config: Config
    chosen: Metrics
    overrides: Sequence[str]

    @property
    def about(self) -> dict[str, str]:
        """What is shown of it beside its figures."""
        judge = self.config.judge
        if self.kind == "verifier":
            return {"model": str(self.config.verifier.url or self.config.verifier.model), "thinking": "", "reasons": ""}
        return {"model": judge.model_name, "thinking": judge.thinking, "reasons": judge.reasons}


def pairs_of(option: str, form: str, texts: Sequence[str]) -> dict[str, str]:
    """`--label METRIC=COLUMN` as metric -> column, by the usual name of the metric. Raises `ConfigError`."""
    pairs = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise ConfigError(f"{option}: expected {form}, received '{text}'.")
        pairs[canonical_name(name) or name] = value
    return pairs


def metrics_of(wanted: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    """The metrics to be scored: those named, else all with labels. Raises `ConfigError` for one without a label."""
    names = [canonical_name(name) or name for name in wanted] or list(labels)
    for name in names:
        if labels and name not in labels:
            raise ConfigError(f"--metric {name}: no label concerns it. Add --label {name}=COLUMN, or leave it out.")
    return names


def candidates_of(options: argparse.Namespace, base: Config, shared: Sequence[str], out: Path) -> list[NamedJudge]:
    """The judges and verifiers of a command, in order; a verifier scores those of the metrics that it can.

    Args:
        base: the configuration with what is set for all.
        shared: `--set` values for all.
        out: the folder below which each has its run.

    Raises `RagEvaluatorError` for what is wrong with any of them, before a model is loaded.
    """
    models = dict(_named(options))
    if not models:
        raise ConfigError("no judge is named. Give --judge MODEL or --verifier MODEL, several times.")
    settings = _settings(options.judge_set, list(models))
    made = []
    for name, (kind, model) in models.items():
        keys = [
            f"{key if key.startswith(('judge.', 'verifier.')) else f'{kind}.{key}'}={value}"
            for key, value in settings[name]
        ]
        places = (f"name={json.dumps(name)}", f"output_dir={json.dumps(str(out))}")
        own = [*shared, *places, *_section(kind, model, base), *keys]
        if kind == "verifier":
            own.append(f"metrics={json.dumps(_that_it_scores(name, base))}")
        config = load_config(options.config, own)
        chosen = chosen_metrics(config)
        check_reported(config, chosen)
        refuse_wrong_paths(config, chosen)
        made.append(NamedJudge(name, kind, config, chosen, own))
    if alone := [metric for metric in chosen_metrics(base) if not any(metric in each.chosen for each in made)]:
        raise ConfigError(f"no verifier scores {alone[0]}. Add --judge MODEL, or leave the metric out with --metric.")
    return made


def _that_it_scores(verifier: str, base: Config) -> list[str]:
    """Those of the metrics that a verifier can score. Raises `ConfigError` where there is none."""
    names = list(chosen_metrics(base))
    scored = [name for name in names if name in SUPPORT]
    if not scored:
        raise ConfigError(
            f"--verifier {verifier}: it does not score {names[0]}. Leave it out, or take --metric of "
            f"{', '.join(SUPPORT)}."
        )
    return scored


def _named(options: argparse.Namespace) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name -> kind and model. Raises `ConfigError` for a name that is there twice."""
    seen = {LENGTH}
    for kind, texts in (("judge", options.judge), ("verifier", options.verifier)):
        for text in texts:
            match = NAMED.fullmatch(text)
            name, model = match.groups() if match else (_name_of(text), text)
            if name in seen:
                raise ConfigError(f"--{kind} {text}: a second one is called '{name}'. Write --{kind} NAME={model}.")
            seen.add(name)
            path = Path(model).expanduser()
            yield name, (kind, str(path.absolute()) if path.exists() else model)


def _name_of(model: str) -> str:
    """The last part of a folder, file, hub id or address, without signs that no folder may have."""
    last = model.rstrip("/").rpartition("/")[2]
    bare = last[: -len(SUFFIX)] if last.lower().endswith(SUFFIX) else last
    return re.sub(r"[^\w.-]+", "-", bare).strip(".-") or "judge"


def _settings(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Name -> keys and values of `--judge-set NAME.key=value`. Raises `ConfigError`."""
    settings = dict[str, list[tuple[str, str]]]({name: [] for name in names})
    for text in texts:
        whole, equals, value = text.partition("=")
        owner = max((name for name in names if whole.startswith(f"{name}.")), key=len, default=None)
        if owner is None or not equals:
            hint = did_you_mean(whole.partition(".")[0], names) or f" Judges: {', '.join(names)}."
            raise ConfigError(f"--judge-set {text}: expected NAME.key=value with the name of a judge.{hint}")
        settings[owner].append((whole[len(owner) + 1 :], value))
    return settings


def _section(kind: str, model: str, base: Config) -> Iterator[str]:
    """What names a model; keys that the configuration has for another kind of model are left out."""
    is_address = model.startswith(ADDRESSES)
    key = "url" if is_address else "model"
    if kind == "verifier":
        is_alike = not base.verifier.by_judge and bool(base.verifier.url) == is_address
        section: dict[str, Any] = {key: model}
    else:
        is_alike = (base.judge.engine == "server") == is_address
        section = {"engine": "server", key: model} if is_address else {key: model}
        if not base.verifier.by_judge:
            yield 'verifier={"model": "judge"}'
    yield f"{kind}.{key}={json.dumps(model)}" if is_alike else f"{kind}={json.dumps(section)}"
