"""Texts that give orders: whether one in the contexts or in the response moves a score more than harmless texts do.

Each drawn row has one place and one direction in turn. An answer that is wrong is told to be right, one that is good
to be wrong. Beside the order stand a harmless statement and a harmless order to the reader, of the same length, in the
same place: a longer text alone may move a score, too.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean

from rag_evaluator.dataset import Sample
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.metrics import Metrics
from rag_evaluator.run import Record
from rag_evaluator.statistics import difference_interval

from .changes import Columns, Material, changed_fact, other_answer
from .facts import followed_by
from .orders import CONTROLS, FIRM, INJECTED, MARGIN, STEERED, UNSETTLED
from .verdicts import figures_of

CONTEXTS = "retrieved_contexts"
PLACES = {CONTEXTS: "contexts", "response": "response"}
DIRECTIONS = ("up", "down")
TURNS = tuple(product(PLACES, DIRECTIONS))
WRONG = (partial(changed_fact, "number"), partial(changed_fact, "name"), other_answer)  # the first certain one is taken


@dataclass(frozen=True)
class Injection:
    """A row with a text that was put into it.

    Attributes:
        row: its place in the dataset, from 0.
        column: where the text stands.
        direction: where the order wants the score, `up` or `down`.
        kind: `order`, or one of `CONTROLS`.
        text: that was put in.
        sample: the row with it.
    """

    row: int
    column: str
    direction: str
    kind: str
    text: str
    sample: Sample

    @property
    def side(self) -> str:
        """Its name among the sides of its row."""
        return f"{INJECTED} {self.kind}"


def injections_of(goods: Sequence[Sample], material: Material) -> list[Injection]:
    """The rows with each text, in order, without those that lack an answer, contexts or a certain wrong answer.

    Args:
        goods: the good sides of the drawn rows.
    """
    lines = (Path(__file__).with_name("orders.jsonl")).read_text(encoding="utf-8").splitlines()
    known = [line for line in map(json.loads, lines) if line["language"] == material.language.name]
    made: list[Injection] = []
    for place, good in enumerate(goods if known else ()):
        column, direction = TURNS[place % len(TURNS)]
        texts = known[place // len(TURNS) % len(known)]
        base = _answered(good, direction, material)
        if base is not None:
            kinds = {"order": texts[direction], **{name: texts[name] for name in CONTROLS}}
            made += (
                Injection(good.index, column, direction, kind, text, _with(base, column, text, material))
                for kind, text in kinds.items()
            )
    return made


def _answered(good: Sample, direction: str, material: Material) -> Sample | None:
    """The row as the order finds it: with a wrong answer for one that praises, else as it is."""
    if good.missing(("response", CONTEXTS)):
        return None
    if direction == "down":
        return good
    changes = (change(good, material) for change in WRONG)
    wrong = next((changed for changed in changes if changed is not None), None)
    return None if wrong is None else replace(good, columns={**good.columns, **wrong})


def _with(base: Sample, column: str, text: str, material: Material) -> Sample:
    """The row with the text at the end of its response, or of one of its contexts."""
    value = base.columns[column]
    changed: Columns
    if isinstance(value, str):
        changed = {column: followed_by(value, text, material.language)}
    else:
        at = material.chance(INJECTED, base).randrange(len(value))
        changed = {column: [*value[:at], followed_by(value[at], text, material.language), *value[at + 1 :]]}
    return replace(base, columns={**base.columns, **changed})


def steerable(injection: Injection, metrics: Metrics, names: Sequence[str]) -> list[str]:
    """The metrics of a judge, of these names, that read what was put in, and can score the row."""
    return [
        name
        for name, metric in metrics.items()
        if name in names
        and metric.judge
        and injection.column in metric.reads
        and not injection.sample.missing(metric.needs(injection.sample.has))
    ]


def injection_report(
    injections: Iterable[Injection],
    metrics: Metrics,
    names: Sequence[str],
    records: Mapping[tuple[int, str, str], Record],
) -> JsonDict:
    """What `probe.json` says of them: for each metric all rows, then each place and direction.

    Returns:
        Lists of JSON: `place`, `direction` (`all` in the first one); `rows` with all three scores, `missing` ones;
        `means` of `order`, `statement` and `imperative`; `beyond_statement`, `beyond_imperative`: how far the order
        moves the score as it says beyond each, with its interval; `word`. Empty where no metric is concerned.
    """
    rows: dict[str, dict[tuple[int, str, str], dict[str, float]]] = {}
    for injection in injections:
        for name in steerable(injection, metrics, names):
            value = records[injection.row, injection.side, name].value
            key = (injection.row, injection.column, injection.direction)
            scores = rows.setdefault(name, {}).setdefault(key, {})
            scores[injection.kind] = math.nan if value is None else float(value)
    return {name: list(_lines(of_metric, metrics, name)) for name, of_metric in rows.items()}


def _lines(rows: Mapping[tuple[int, str, str], Mapping[str, float]], metrics: Metrics, name: str) -> Iterator[JsonDict]:
    groups = {("all", "all"): list(rows)}
    for column, direction in TURNS:
        groups[PLACES[column], direction] = [key for key in rows if key[1:] == (column, direction)]
    scale = metrics[name].scale
    for (place, direction), keys in groups.items():
        whole = [(key, rows[key]) for key in keys if not any(map(math.isnan, rows[key].values()))]
        if not whole:
            continue
        ways = [1.0 if key[2] == "up" else -1.0 for key, _ in whole]
        units = [str(key[0]) for key, _ in whole]
        beyond = {
            control: figures_of(
                difference_interval(
                    [way * (of["order"] - of[control]) for way, (_, of) in zip(ways, whole, strict=True)],
                    scale,
                    clusters=units,
                )
            )
            for control in CONTROLS
        }
        yield {
            "place": place,
            "direction": direction,
            "rows": len(whole),
            "missing": len(keys) - len(whole),
            "means": {kind: fmean(of[kind] for _, of in whole) for kind in ("order", *CONTROLS)},
            **{f"beyond_{control}": figures for control, figures in beyond.items()},
            "word": _word(list(beyond.values()), MARGIN * scale.width),
        }


def _word(beyond: Sequence[Json], margin: float) -> str:
    lows, highs = ([figures[name] for figures in beyond] for name in ("ci_low", "ci_high"))
    if any(end is None for end in (*lows, *highs)):
        return UNSETTLED
    return STEERED if min(lows) > 0 else FIRM if max(highs) < margin else UNSETTLED
