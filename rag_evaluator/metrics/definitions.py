"""The rows of users' own metrics, made from `custom_metrics` and checked against all that is known without a model."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails

from rag_evaluator.config.languages import find_language
from rag_evaluator.config.origin import Key, dotted, explain
from rag_evaluator.config.schema import Config
from rag_evaluator.config.sections import Number, Section
from rag_evaluator.dataset.columns import ALIASES, accepted_names
from rag_evaluator.dataset.json_values import is_blank
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import canonical_name, plain_name
from rag_evaluator.prompts.pack import ENGLISH, CustomQuestion, as_shown
from rag_evaluator.results.rows import DROPPED

# Any in this module: whatever the user wrote.

MOST_LABELS = 101  # 0..100: each is a line of the prompt
NAMED = {"pass/fail": ("fail", "pass"), "yes/no": ("no", "yes")}
"""Scales by name, the worse label first. Their words are English."""
FORMS = "{0: rude, 1: neutral, 2: polite}, [fail, pass], pass/fail, yes/no, 0..10 or {min: 0, max: 10}"
RANGE = re.compile(r"\s*(-?\d{1,6})\s*\.\.\s*(-?\d{1,6})\s*")
ENDS = {"min": "lowest", "max": "highest"}
"""The ends of a range -> the keys under which they may be described."""


def read_scale(written: Any) -> dict[int, str]:
    """Label -> its description, ascending; a range describes its two ends only. Raises `ValueError`."""
    if isinstance(written, str) and (ends := RANGE.fullmatch(written)):
        return _range(int(ends[1]), int(ends[2]), *ENDS)
    if isinstance(written, str) and written in NAMED:
        return dict(enumerate(NAMED[written]))
    if isinstance(written, Mapping) and set(written) & {*ENDS, *ENDS.values()}:
        return _described_range(written)
    if isinstance(written, list | tuple):
        written = dict(enumerate(written))
        if [str(text).lower() for text in written.values()] in (["pass", "fail"], ["yes", "no"]):
            raise ValueError("a list goes from the worst label to the best: write [fail, pass] or [no, yes]")
    if not isinstance(written, Mapping):
        raise ValueError(f"expected labels with their meaning, such as {FORMS}")
    return _labels(written)


def _labels(written: Mapping[Any, Any]) -> dict[int, str]:
    labels: dict[int, str] = {}
    for key, text in written.items():
        number = _whole(key)
        if number in labels:
            raise ValueError(f"label {number} is there twice; remove one of them")
        if isinstance(text, bool):
            raise ValueError(
                'expected a text for each label; YAML reads no and yes as false and true: put "no" in quotes'
            )
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"expected a text that says what label {number} means")
        if text in labels.values():
            raise ValueError(f"'{text}' is the meaning of two labels; give each its own")
        labels[number] = text
    return _enough(labels)


def _described_range(written: Mapping[Any, Any]) -> dict[int, str]:
    unknown = set(written) - {*ENDS, *ENDS.values()}
    if unknown or not set(ENDS) <= set(written):
        raise ValueError("expected the keys min and max, and if you like lowest and highest, which say what these mean")
    words = [written.get(key, end) for end, key in ENDS.items()]
    if not all(isinstance(word, str) and word.strip() for word in words) or words[0] == words[1]:
        raise ValueError("expected different texts as lowest and highest")
    return _range(_whole(written["min"]), _whole(written["max"]), *words)


def _range(low: int, high: int, lowest: str, highest: str) -> dict[int, str]:
    if high - low >= MOST_LABELS:
        raise ValueError(f"expected at most {MOST_LABELS} labels, such as 0..100")
    labels = dict.fromkeys(range(low, high + 1), "")
    if len(labels) > 1:
        labels |= {low: lowest, high: highest}
    return _enough(labels)


def _enough(labels: dict[int, str]) -> dict[int, str]:
    if not 2 <= len(labels) <= MOST_LABELS:
        raise ValueError(f"expected 2 to {MOST_LABELS} labels, such as {FORMS}; the smaller number first")
    return dict(sorted(labels.items()))


def _whole(label: Any) -> int:
    """A label as YAML and JSON have it, 2 or "2"."""
    if isinstance(label, int) and not isinstance(label, bool):
        return label
    if isinstance(label, str) and re.fullmatch(r"-?\d{1,6}", label):
        return int(label)
    raise ValueError(f"label {label!r:.40} is no whole number; number the labels, such as {{0: rude, 1: polite}}")


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text, received a blank one")
    return text


def _names_once(names: list[str]) -> list[str]:
    twice = [name for position, name in enumerate(names) if name in names[:position]]
    if twice:
        raise ValueError(f"'{twice[0]}' is there twice; remove one of them")
    return names


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise ValueError("expected the lowest value and then the highest, such as [0, 1]")
    return ends


Columns: TypeAlias = Annotated[
    list[str],
    Field(min_length=1),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    AfterValidator(_names_once),
]


class AskedMetric(Section):
    """A metric that asks the judge.

    Attributes:
        question: what is asked about each row.
        columns: what the judge is shown of it: canonical columns and any other; with `:optional` after its name a
            canonical one is shown of rows that have it.
        scale: label -> what it means, in one of the forms that `read_scale` reads.
        better: which end of the scale is the better one.
        stage: the part of the system that it measures.
        examples: columns, `reason` and `label` of each.
        language: that of question, scale and examples; None: that of the run.
    """

    question: Annotated[str, AfterValidator(_says_something)]
    columns: Columns
    scale: Annotated[dict[int, str], BeforeValidator(read_scale)]
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"
    examples: list[dict[str, Any]] = Field(default_factory=list)
    language: str | None = None


class ComputedMetric(Section):
    """A metric that a function of the row computes.

    Attributes:
        function: `module:name`.
        columns: the columns that are its arguments, by their names.
        range: the lowest and the highest value that it can give.
        kind: `continuous` for a number on a fine scale, `judged` for one of few values.
        better: which end of the range is the better one.
        stage: the part of the system that it measures.
    """

    function: Any
    columns: Columns
    range: Annotated[tuple[Number, Number], AfterValidator(_ascending)] = (0.0, 1.0)
    kind: Literal["judged", "continuous"] = "judged"
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"


class RagasObjectMetric(Section):
    """A metric that a user made with classes of ragas.

    Attributes:
        metric: `module:name` of the object.
        better: which end of its scale is the better one.
        stage: the part of the system that it measures.
    """

    metric: Any
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"


SECTION = "custom_metrics"
OPTIONAL = ":optional"  # after the name of a column, as ragas has it
LONGEST = 60  # letters of a name: it is part of the names of files
RESERVED = frozenset({"sort", "generate", "duel", "retrieval", "custom", "id", DROPPED})
"""Names that packs and results use for other things; rows of runs are matched by their `id`."""
ANSWER = ("reason", "label")  # of an example
AnySection = TypeVar("AnySection", bound=Section)


def own_metrics(config: Config) -> dict[str, Metric]:
    """The rows of all metrics that the configuration defines, by name. Raises `ConfigError` with its place."""
    rows: dict[str, Metric] = {}
    for name, written in config.custom_metrics.items():
        _check_name(config, name, rows)
        kinds = {"function": _computed, "metric": _of_ragas}
        row = next((kinds[key] for key in kinds if key in (written or {})), _asked)
        rows[name] = row(config, name, written or {})
    return rows


def check_functions(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raises `ConfigError` if a function is not there, or takes other arguments."""
    for name, metric in metrics.items():
        if "function" in metric.options:
            from rag_evaluator.metrics.own.function import check_arguments

            try:
                check_arguments(metric.options["function"], metric.columns)
            except ConfigError as error:
                _fail(config, (SECTION, name, "function"), f"is {error}")


def _check_name(config: Config, name: str, names: Mapping[str, Any]) -> None:
    existing = canonical_name(name)
    columns = {accepted for canonical in ALIASES for accepted in accepted_names(canonical)}
    alike = [other for other in names if plain_name(other) == plain_name(name)]
    like = f"is too much like '{alike[0] if alike else ''}': names are compared without case and _. Choose another."
    faults = {
        f"is no name of a metric: expected at most {LONGEST} letters, digits and _, no digit first, such as 'tone'.": (
            not name.isidentifier() or len(name) > LONGEST
        ),
        f"is the name of a metric that exists, {existing}. Choose another name.": existing is not None,
        "is the name of a column. Choose another name.": name in columns,
        "is a name that this program uses for something else. Choose another name.": name.lower() in RESERVED,
        like: bool(alike),
    }
    for message, wrong in faults.items():
        if wrong:
            _fail(config, (SECTION, name), message)


def _asked(config: Config, name: str, written: Mapping[str, Any]) -> Metric:
    options = validated(config, (SECTION, name), written, AskedMetric)
    columns = _columns(config, name, options.columns)
    language = options.language or config.language
    question = CustomQuestion(options.question, options.scale, language, _examples(config, name, options, columns))
    _check_language(config, name, question, written["scale"])
    return Metric(
        "rag_evaluator.metrics.own.judged:QuestionMetric",
        tuple(column for column, needed in columns.items() if needed),
        optional=tuple(column for column, needed in columns.items() if not needed),
        options={"columns": tuple(columns)},
        prompts=("prompt",),
        range=(float(min(options.scale)), float(max(options.scale))),
        better=options.better,
        stage=options.stage,
        question=question,
    )


def _computed(config: Config, name: str, written: Mapping[str, Any]) -> Metric:
    options = validated(config, (SECTION, name), written, ComputedMetric)
    if not isinstance(options.function, str):
        _fail(config, (SECTION, name, "function"), f"is {options.function!r:.60}: expected module:function.")
    return Metric(
        "rag_evaluator.metrics.own.function:FunctionScore",
        options.columns,
        judge=False,
        options={"function": options.function, "range": list(options.range)},
        range=options.range,
        kind=options.kind,
        better=options.better,
        stage=options.stage,
    )


def _of_ragas(config: Config, name: str, written: Mapping[str, Any]) -> Metric:
    from rag_evaluator.metrics.own.function import find_object
    from rag_evaluator.metrics.own.ragas_object import facts_of, is_ragas_object  # imports ragas

    options = validated(config, (SECTION, name), written, RagasObjectMetric)
    try:
        user_object = find_object(options.metric)
        if not is_ragas_object(user_object):
            raise ConfigError(
                f"'{options.metric}', which is no metric made with ragas: expected an object of DiscreteMetric, "
                "NumericMetric or a subclass of MetricWithLLM."
            )
        facts = facts_of(user_object)
    except ConfigError as error:
        _fail(config, (SECTION, name, "metric"), f"is {error}")
    columns = {parameter: _canonical(config, column) for parameter, column in facts.columns.items()}
    return Metric(
        "rag_evaluator.metrics.own.ragas_object:ObjectScore",
        list(dict.fromkeys(columns.values())),
        optional=facts.optional,
        judge=facts.asks,
        options={"object": options.metric, "columns": columns, "values": facts.values, "range": list(facts.range)},
        range=facts.range,
        better=options.better,
        stage=options.stage,
    )


def validated(config: Config, place: Key, written: Any, kind: type[AnySection], holds_own: bool = False) -> AnySection:
    """What a configuration says at a place, as a section. Raises `ConfigError` with the line of each wrong key.

    Args:
        holds_own: whether what is below its keys is the user's own.
    """
    try:
        return kind.model_validate(dict(written or {}))
    except ValidationError as error:
        details = [cast(ErrorDetails, {**detail, "loc": (*place, *detail["loc"])}) for detail in error.errors()]
        known: dict[Key, bool] = {(*place, option): holds_own for option in kind.model_fields}
        raise ConfigError("\n".join(explain(details, config.origin, known))) from None


def _columns(config: Config, name: str, written: Sequence[str]) -> dict[str, bool]:
    """The columns under their canonical names, if they have such -> whether a row must have it."""
    columns: dict[str, bool] = {}
    for position, text in enumerate(written):
        column = text.removesuffix(OPTIONAL)
        canonical = _canonical(config, column)
        place = (SECTION, name, "columns", position)
        if canonical in columns:
            _fail(config, place, f"is '{column}', which is {canonical} and is there already. Remove it.")
        if column == name:
            _fail(config, place, "is the name of the metric itself. Choose another name for the metric.")
        if column != text and canonical not in ALIASES:
            advice = did_you_mean(column, ALIASES)
            _fail(config, place, f"is '{column}': only ragas' columns can be optional.{advice}")
        columns[canonical] = column == text
    return columns


def _canonical(config: Config, column: str) -> str:
    """The canonical column that is meant; any other is read as the row has it."""
    if column in config.columns:
        return config.columns[column]
    return next((canonical for canonical in ALIASES if column in accepted_names(canonical)), column)


def _examples(config: Config, name: str, options: AskedMetric, columns: Mapping[str, bool]) -> list[dict[str, Any]]:
    return [
        _example(config, (SECTION, name, "examples", n), example, options, columns)
        for n, example in enumerate(options.examples)
    ]


def _example(
    config: Config, place: Key, example: Mapping[str, Any], options: AskedMetric, columns: Mapping[str, bool]
) -> dict[str, Any]:
    """`values`, `reason` and `label` of an example."""
    canonical = {key if key in ANSWER else _canonical(config, key): value for key, value in example.items()}
    for key in example:
        if key not in ANSWER and _canonical(config, key) not in columns:
            known = [*options.columns, *ANSWER]
            _fail(
                config,
                (*place, key),
                f"is neither a column of the metric nor reason or label.{did_you_mean(key, known)}",
            )
    for key in (*columns, *ANSWER):
        if columns.get(key, True) and is_blank(canonical.get(key)):
            _fail(config, place, f"has no {key}. An example has {', '.join((*options.columns, *ANSWER))}.")
    if not isinstance(canonical["reason"], str):
        _fail(config, (*place, "reason"), f"is {canonical['reason']!r:.40}: expected a text. Put it in quotes.")
    values = {column: as_shown(canonical[column]) for column in columns if not is_blank(canonical.get(column))}
    return {
        "values": values,
        "reason": canonical["reason"],
        "label": _label(config, place, canonical["label"], options.scale),
    }


def _label(config: Config, place: Key, written: Any, scale: Mapping[int, str]) -> int:
    """A label by its number or by what it means."""
    known: dict[Any, int] = {text: label for label, text in scale.items() if text}
    known |= {form: label for label in scale for form in (label, str(label))}
    if isinstance(written, bool | list | dict) or written not in known:
        _fail(config, (*place, "label"), f"is {written!r:.40}: expected one of {', '.join(map(str, scale))}.")
    return known[written]


def _check_language(config: Config, name: str, question: CustomQuestion, scale: Any) -> None:
    place = (SECTION, name, "language")
    try:
        language, run = find_language(question.language).name, find_language(config.language).name
    except ConfigError as error:
        _fail(config, place, f"is not usable: {error}")
    if language not in (run, ENGLISH):
        _fail(
            config,
            place,
            f"is '{question.language}', and that of the run is '{config.language}'. Questions are translated from "
            "English only: write it in English, or in the language of the run.",
        )
    if isinstance(scale, str) and ".." not in scale and language != ENGLISH:
        _fail(
            config,
            (SECTION, name, "scale"),
            f"is '{scale}', which is English: write the labels in {language}, the worse one first: [..., ...].",
        )


def _fail(config: Config, key: Key, message: str) -> NoReturn:
    raise ConfigError(f"{config.place(*key)}: '{dotted(key)}' {message}")
