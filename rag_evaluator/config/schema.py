"""The configuration: what `config.yaml` may say, and how it is checked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, get_args

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    create_model,
)

from rag_evaluator.errors import ConfigError
from rag_evaluator.resources import command

from .engine_choice import with_engine
from .features import all_features, load, next_words
from .languages import find_language
from .origin import Key, Origin, apply_overrides, dotted, explain, fault, read_yaml
from .paths import FullPath
from .sections import (
    AnySection,
    EmbeddingsConfig,
    GenerateConfig,
    JudgeConfig,
    Number,
    PromptsConfig,
    RetrievalConfig,
    Section,
    SortConfig,
    VerifierConfig,
    check_engine_keys,
    check_verifier_keys,
    section_of,
)

FolderName = Annotated[str, StringConstraints(pattern=r"^\w([\w.\- ]*[\w\-])?$", max_length=100)]
"""It ends in no space or dot, which some systems drop, so that a run would not find its results."""
Names = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


RowCount = Annotated[int, Field(ge=1)]


class Config(Section):
    """One evaluation. Paths are absolute once read by `load_config`.

    Attributes:
        name: of the run: results go to the folder `<output_dir>/<name>`.
        dataset: a file (`.jsonl`, `.json`, `.csv`, `.tsv`, `.parquet`, `.xlsx`) or a folder saved by `datasets`.
        limit: only the first rows, this many; null: all.
        sample: only this many rows, drawn by `sample_seed`; with `limit` of the first ones.
        sample_seed: another number draws other rows.
        columns: your name of a column -> the name that is known, where yours is not.
        responses: `said`, without thoughts, citation marks and signs of bold, or `as_written`.
        refusals: the score of a response that refuses to answer: `as_scored`; `0`, the worst of each metric; `missing`.
        output_dir: the folder for the results of all runs.
        language: of the prompts: a name or code, such as spanish or es.
        metrics: what is scored, by any of their names, and those of `custom_metrics`.
        metric_options: metric -> its options, see below.
        custom_metrics: metrics of your own: name -> a question to the judge, or a function, see below.
        retrieval: of the metrics `retrieval_*`.
        prompts_dir: packs, as `<metric>_<prompt>_<language>.json`; what is not there comes from the package.
        questions_from: a run's results folder; its rewritten questions are taken, with `judge.history: rewrite`.
        prompts: what to do where a language has no pack.
        judge: the language model that judges.
        embeddings: the model for metrics that compare meanings.
        verifier: the model that says whether a text supports a sentence.
        sort: of the command and the function `sort`.
        generate: of the command and the function `generate`.
        group_by: columns; figures are also given for the rows of each of their values.
        cluster: a column; rows with the same value there depend on each other, which makes intervals wider; null:
            `conversation`, where rows have it.
        thresholds: metric -> a score; the summary also gives the share of rows that reach it.
        ci_level: level of the intervals; what is shown, equal or won does not depend on it.
        require: rules that `rag-evaluator gate` checks, such as `faithfulness >= 0.8`.
        report: write `report.html` beside the scores.
        offline: open no connection but to this machine; false lets hub ids be downloaded.
        chunk_size: rows that a worker publishes together; auto: 256, fewer for small datasets.
        repeats: how often each score of a sampling judge is made; the row has their mean.
    """

    name: FolderName = "run"
    dataset: FullPath | None = None
    limit: RowCount | None = None
    sample: RowCount | None = None
    sample_seed: int = Field(default=0, ge=0)
    columns: dict[str, str] = Field(default_factory=dict)
    responses: Literal["said", "as_written"] = "said"
    refusals: Literal["as_scored", 0, "missing"] = "as_scored"
    output_dir: FullPath = Path("results")
    language: str = Field(default="english", min_length=1)
    metrics: Names = Field(min_length=1)
    metric_options: dict[str, dict[str, Any] | None] = Field(default_factory=dict)  # Any: each metric checks its own
    custom_metrics: dict[str, dict[str, Any] | None] = Field(default_factory=dict)  # Any: checked with the metrics
    retrieval: RetrievalConfig = RetrievalConfig()
    prompts_dir: FullPath = Path("prompts")
    prompts: PromptsConfig = PromptsConfig()
    questions_from: FullPath | None = None
    judge: JudgeConfig = JudgeConfig()
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    verifier: VerifierConfig = VerifierConfig()
    sort: SortConfig = SortConfig()
    generate: GenerateConfig = GenerateConfig()
    group_by: Names = Field(default_factory=list)
    cluster: str | None = None
    thresholds: dict[str, Number] = Field(default_factory=dict)
    ci_level: float = Field(default=0.95, ge=0.5, le=0.9999)
    require: Names = Field(default_factory=list)
    report: bool = True
    offline: bool = True
    chunk_size: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    repeats: int = Field(default=1, ge=1, le=100)
    _origin: Origin = PrivateAttr(Origin())

    def place(self, *key: str | int) -> str:
        """Say where a key was written, for errors: `config.yaml, line 3`; without a key the name of the file."""
        return self._origin.place(*key)

    def refuse(self, key: Key, message: str) -> NoReturn:
        """Raise `ConfigError` about what is written at a key; the message goes on behind its name."""
        raise ConfigError(f"{self.place(*key)}: '{dotted(key)}' {message}")

    @property
    def results_dir(self) -> Path:
        """Return the folder of results: `output_dir`/`name`."""
        return self.output_dir / self.name

    def section(self, kind: type[AnySection]) -> AnySection:
        """Return the section or the keys of a feature; defaults where the configuration was made without features."""
        return next((value for value in (self, *dict(self).values()) if isinstance(value, kind)), None) or kind()


@cache
def config_class() -> type[Config]:
    """Return the configuration with the sections and keys of all features."""
    features = all_features().values()
    sections = {key: load(name) for feature in features for key, name in feature.sections.items()}
    keys = (load(feature.keys) for feature in features if feature.keys)
    fields: dict[str, Any] = {key: (kind, kind()) for key, kind in sections.items()}  # Any: as pydantic takes them
    return create_model("Config", __base__=(*keys, Config), __doc__=Config.__doc__, **fields)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a YAML file, apply `key.sub=value` overrides, check everything, resolve paths from the file's folder.

    Raises `ConfigError` naming the file, the key and the nearest right one.
    """
    path = Path(path)
    if not path.is_file():
        words = next_words("no configuration")
        make = f" Make one for your rows: {command(*words)}" if words else ""
        raise ConfigError(f"{path}: no such configuration file.{make}")
    data, origin = read_yaml(path)
    origin = replace(origin, overrides=apply_overrides(data, overrides))
    return make_config(data, origin, path.resolve().parent)


def as_config(config: "Config | Mapping[str, Any] | str | Path") -> Config:
    """The configuration of a file, a mapping with its keys, or itself. Raises `ConfigError`."""
    if isinstance(config, str | Path):
        return load_config(config)
    if isinstance(config, Mapping):
        return make_config(config)
    if not isinstance(config, Config):
        raise ConfigError(
            f"config: expected a YAML file, a Config or a mapping with its keys, received {type(config).__name__}."
        )
    return config


def default_config(overrides: Sequence[str] = (), **data: Any) -> Config:
    """A configuration without a file: the defaults, `data` and `key.sub=value` overrides. Raises `ConfigError`."""
    return make_config(data, Origin("--set", overrides=apply_overrides(data, overrides)))


def make_config(data: Mapping[str, Any], origin: Origin | None = None, base: Path | None = None) -> Config:
    """Check a mapping and resolve its paths from `base` (the current folder if None). Raises `ConfigError`."""
    origin = origin or Origin()
    try:
        config = config_class().model_validate(data, context=(base or Path.cwd()).resolve())
    except ValidationError as error:
        known = list(keys_in(config_class(), data))
        raise ConfigError("\n".join(explain(error.errors(), data, origin.place, known))) from None
    config._origin = origin
    if config.questions_from and config.judge.history != "rewrite":
        config.refuse(("questions_from",), "needs judge.history: rewrite. Set it, or remove the key.")
    check_engine_keys(config.judge, origin.place)
    check_verifier_keys(config.verifier, origin.place)
    try:
        find_language(config.language)
    except ConfigError as error:
        raise ConfigError(f"{origin.place('language')}: {error}") from None
    return config.model_copy(update={"judge": with_engine(config.judge)})


def with_arguments(section: AnySection, **arguments: Any) -> AnySection:
    """The section with those arguments of a function that were given, which means: are not None.

    Raises `ConfigError` naming the argument.
    """
    overrides = {name: value for name, value in arguments.items() if value is not None}
    try:
        return type(section).model_validate({**section.model_dump(), **overrides})
    except ValidationError as error:
        raise ConfigError("\n".join(f"{detail['loc'][0]} is {fault([detail])}" for detail in error.errors())) from None


def keys_in(section: type[Section], data: Any) -> Iterator[Key]:
    """Every key of a section and of those in it; of a section that may be null only where `data` has it."""
    for name, field in section.model_fields.items():
        yield (name,)
        inner = section_of(field.annotation)
        written = data.get(name) if isinstance(data, Mapping) else None
        if inner is None and written:
            inner = next(filter(None, map(section_of, get_args(field.annotation))), None)
        if inner is not None:
            yield from ((name, *key) for key in keys_in(inner, written))
