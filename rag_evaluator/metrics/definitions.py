"""The rows of users' own metrics, made from `custom_metrics` and checked against all that is known without a model."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from rag_evaluator.config import Config, Key, Names, Number, Section, explain, prompt_owners
from rag_evaluator.dataset import ALIASES, ColumnNames, canonical_column, is_blank
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.prompts import SHELL, CustomQuestion, as_shown
from rag_evaluator.results import ADDED
from rag_evaluator.statistics import Scale

from .own.function import check_arguments
from .row import Metric, Metrics
from .table import canonical_name, plain_name

# Any in this module: whatever the user wrote.

MOST_LABELS = 101  # 0..100: each is a line of the prompt
FORMS = "{0: rude, 1: neutral, 2: polite}, [fail, pass] or 0..10"
RANGE = re.compile(r"\s*(-?\d{1,6})\s*\.\.\s*(-?\d{1,6})\s*")
SECTION = "custom_metrics"
OPTIONAL = ":optional"  # after the name of a column, as ragas has it
LONGEST = 60  # letters of a name: it is part of the names of files
OTHER_OWNERS = ("sort", "generate", "retrieval", "custom", *prompt_owners())
"""Tasks and families of metrics that have prompts."""
RESERVED = frozenset({*OTHER_OWNERS, "id", *ADDED})
"""Names that packs and results use for other things; rows of runs are matched by their `id`."""
ANSWER = ("reason", "label")  # of an example
AnySection = TypeVar("AnySection", bound=Section)


def read_scale(written: Any) -> dict[int, str]:
    """Label -> its description, ascending; a range describes its two ends only. Raises `ValueError`."""
    if isinstance(written, str) and (ends := RANGE.fullmatch(written)):
        low = int(ends[1])
        high = int(ends[2])
        labels = {**dict.fromkeys(range(low, high + 1), ""), **({low: "min", high: "max"} if low < high else {})}
    else:
        labels = _labels(written)
    if not 2 <= len(labels) <= MOST_LABELS:
        raise ValueError(f"expected 2 to {MOST_LABELS} labels, such as {FORMS}; the smaller number first")
    return dict(sorted(labels.items()))


def _labels(written: Any) -> dict[int, str]:
    """The labels of a mapping, or of a list, which begins with the worst one."""
    if isinstance(written, list | tuple):
        if [str(text).lower() for text in written] in (["pass", "fail"], ["yes", "no"]):
            raise ValueError("a list goes from the worst label to the best: write [fail, pass] or [no, yes]")
        written = dict(enumerate(written))
    if not isinstance(written, Mapping):
        raise ValueError(f"expected labels with their meaning, such as {FORMS}")
    labels: dict[int, str] = {}
    for key, text in written.items():
        if not re.fullmatch(r"-?\d{1,6}", str(key)):  # 2 in YAML, "2" in JSON
            raise ValueError(f"label {key!r:.40} is no whole number; number the labels, such as {{0: rude, 1: polite}}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f'expected a text for label {key}; YAML reads no and yes as false and true: write "no"')
        if int(key) in labels or text in labels.values():
            raise ValueError(f"label {key}, '{text}', is there twice; give each label its own number and meaning")
        labels[int(key)] = text
    return labels


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise ValueError("expected the lowest value and then the highest, such as [0, 1]")
    return ends


class OwnMetric(Section):
    """What all metrics of one's own have.

    Attributes:
        better: which end of the scale is the better one.
        stage: the part of the system that it measures.
    """

    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"


class AskedMetric(OwnMetric):
    """A metric that asks the judge.

    Attributes:
        question: what is asked about each row, in the language of the run.
        columns: what the judge is shown of it: canonical columns and any other; with `:optional` after its name a
            canonical one is shown of rows that have it.
        scale: label -> what it means, in one of the forms that `read_scale` reads.
        examples: columns, `reason` and `label` of each.
    """

    question: Annotated[str, Field(pattern=r"\S")]
    columns: Names = Field(min_length=1)
    scale: Annotated[dict[int, str], BeforeValidator(read_scale)]
    examples: list[JsonDict] = Field(default_factory=list)


class ComputedMetric(OwnMetric):
    """A metric that a function of the row computes.

    Attributes:
        function: `module:name`.
        columns: the columns that are its arguments, by their names.
        range: the lowest and the highest value that it can give.
        kind: `continuous` for a number on a fine scale, `judged` for one of few values.
    """

    function: Any  # a text, or the function itself as `FunctionName`
    columns: Names = Field(min_length=1)
    range: Annotated[tuple[Number, Number], AfterValidator(_ascending)] = (0.0, 1.0)
    kind: Literal["judged", "continuous"] = "judged"


class RagasObjectMetric(OwnMetric):
    """A metric that a user made with classes of ragas.

    Attributes:
        metric: `module:name` of the object.
    """

    metric: Any  # likewise


def own_metrics(config: Config) -> dict[str, Metric]:
    """The rows of all metrics that the configuration defines, by name. Raises `ConfigError` with its place."""
    rows: dict[str, Metric] = {}
    for name, written in config.custom_metrics.items():
        _check_name(config, name, rows)
        kinds = {"function": _computed, "metric": _of_ragas}
        row = next((kinds[key] for key in kinds if key in (written or {})), _asked)
        rows[name] = row(config, name, written or {})
    return rows


def check_functions(config: Config, metrics: Metrics) -> None:
    """Raises `ConfigError` if a function is not there, or takes other arguments."""
    for name, metric in metrics.items():
        if "function" in metric.options:
            try:
                check_arguments(metric.options["function"], metric.columns)
            except ConfigError as error:
                config.refuse((SECTION, name, "function"), f"is {error}")


def _check_name(config: Config, name: str, others: Iterable[str]) -> None:
    if not name.isidentifier() or len(name) > LONGEST:
        what = f"is no name of a metric: expected at most {LONGEST} letters, digits and _, such as 'tone'."
        config.refuse((SECTION, name), what)
    taken = canonical_name(name) or next((other for other in others if plain_name(other) == plain_name(name)), None)
    if taken or canonical_column(name) or name.lower() in RESERVED:
        what = f"the metric '{taken}': names are compared without case and _" if taken else "something else"
        config.refuse((SECTION, name), f"is the name of {what}. Choose another name.")


def _asked(config: Config, name: str, written: Json) -> Metric:
    options = validated(config, (SECTION, name), written, AskedMetric)
    columns = _columns(config, name, options.columns)
    places = [(SECTION, name, "examples", position) for position in range(len(options.examples))]
    examples = [_example(config, place, options, columns) for place in places]
    return Metric(
        "rag_evaluator.metrics.own.judged:QuestionMetric",
        tuple(column for column, needed in columns.items() if needed),
        optional=tuple(column for column, needed in columns.items() if not needed),
        options={"columns": tuple(columns)},
        prompts=("prompt",),
        owner=SHELL[0],
        scale=Scale(float(min(options.scale)), float(max(options.scale)), better=options.better),
        component=options.stage,
        question=CustomQuestion(options.question, options.scale, examples),
    )


def _computed(config: Config, name: str, written: Json) -> Metric:
    options = validated(config, (SECTION, name), written, ComputedMetric)
    return Metric(
        "rag_evaluator.metrics.own.function:FunctionScore",
        options.columns,
        judge=False,
        options={"function": options.function, "range": list(options.range)},
        scale=Scale(*options.range, options.kind, options.better),
        component=options.stage,
    )


def _of_ragas(config: Config, name: str, written: Json) -> Metric:
    from .own.ragas_object import row_of_object  # imports ragas

    options = validated(config, (SECTION, name), written, RagasObjectMetric)
    try:
        row = row_of_object(options.metric, lambda column: _canonical(config, column))
    except ConfigError as error:
        config.refuse((SECTION, name, "metric"), f"is {error}")
    return replace(row, scale=row.scale._replace(better=options.better), component=options.stage)


def validated(config: Config, place: Key, written: Any, kind: type[AnySection]) -> AnySection:
    """What a configuration says at a place, as a section. Raises `ConfigError` with the line of each wrong key."""
    try:
        return kind.model_validate(dict(written or {}))
    except ValidationError as error:
        known = [(*place, option) for option in kind.model_fields]
        raise ConfigError("\n".join(explain(error.errors(), written, config.place, known, place))) from None


def _columns(config: Config, name: str, written: Sequence[str]) -> dict[str, bool]:
    """The columns under their canonical names, if they have such -> whether a row must have it."""
    columns: dict[str, bool] = {}
    for position, text in enumerate(written):
        column = text.removesuffix(OPTIONAL)
        canonical = _canonical(config, column)
        place = (SECTION, name, "columns", position)
        if canonical in columns:
            config.refuse(place, f"is '{column}', which is {canonical} and is there already. Remove it.")
        if column == name:
            config.refuse(place, "is the name of the metric itself. Choose another name for the metric.")
        if column != text and canonical not in ALIASES:
            advice = did_you_mean(column, ALIASES)
            config.refuse(place, f"is '{column}': only ragas' columns can be optional.{advice}")
        columns[canonical] = column == text
    return columns


def _canonical(config: Config, column: str) -> str:
    """The canonical column that is meant; any other is read as the row has it."""
    return ColumnNames(config.columns).mapping.get(column) or canonical_column(column) or column


def _example(config: Config, place: Key, options: AskedMetric, columns: Mapping[str, bool]) -> JsonDict:
    """`values`, `reason` and `label` of the example at a place; its label is written as a number, or as its meaning."""
    written = options.examples[int(place[-1])]
    canonical = {key if key in ANSWER else _canonical(config, key): value for key, value in written.items()}
    parts = {**columns, **dict.fromkeys(ANSWER, True)}
    wrong = [key for key in canonical if key not in parts]
    missing = [key for key, needed in parts.items() if needed and is_blank(canonical.get(key))]
    if wrong or missing:
        what = f"{wrong[0]}, which is no column of the metric" if wrong else f"no {missing[0]}"
        config.refuse(place, f"has {what}. An example has {', '.join((*options.columns, *ANSWER))}.")
    labels = {text: label for label, text in options.scale.items()} | {str(label): label for label in options.scale}
    label = labels.get(str(canonical["label"]))
    if label is None:
        expected = ", ".join(map(str, options.scale))
        config.refuse((*place, "label"), f"is {canonical['label']!r:.40}: expected one of {expected}.")
    values = {column: as_shown(canonical[column]) for column in columns if not is_blank(canonical.get(column))}
    return {"values": values, "reason": str(canonical["reason"]), "label": label}
