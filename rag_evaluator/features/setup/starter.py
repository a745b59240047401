"""`propose`: a first configuration for a file of rows: columns, language, contexts, metrics that they allow.

`starter.yaml.jinja` is the text of the file: what matters, each key with a comment.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
import yaml

from rag_evaluator.config.languages import find_language
from rag_evaluator.config.schema import make_config, model_path
from rag_evaluator.config.sections import DEMO, JudgeConfig
from rag_evaluator.dataset.columns import LISTS, accepted_names
from rag_evaluator.demo import INSTALL, demo_embeddings
from rag_evaluator.embeddings.hub import find_model
from rag_evaluator.errors import ConfigError, DatasetError, ModelError, ResultsError
from rag_evaluator.features.setup.survey import Survey, survey
from rag_evaluator.judge.engines.transformers.loading import find_judge
from rag_evaluator.metrics.chosen import chosen_metrics
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import METRICS, canonical_name
from rag_evaluator.prompts.check import languages_in
from rag_evaluator.prompts.language_id import identified
from rag_evaluator.prompts.pack import ENGLISH
from rag_evaluator.resources import command, packaged

PREFERRED = (
    "faithfulness",
    "answer_relevancy",
    "context_precision_with_reference",
    "context_precision_without_reference",
    "context_recall",
    "answer_accuracy",
)
INSTEAD_OF = {"context_precision_without_reference": "context_precision_with_reference"}  # one of them is enough
FEW = 3  # metrics, where none of those is possible
WIDTH = 44  # of what stands before a comment
LONGEST = 120  # characters of a comment's line
TEMPLATE = Path(__file__).with_name("starter.yaml.jinja")
PLAIN = re.compile(r"[^\W\d_][\w./ -]*\w")
TEXT_COLUMNS = {
    "user_input": "the question",
    "retrieved_contexts": "what was retrieved for it, best first",
    "response": "the answer of your system",
    "reference": "the right answer",
    "reference_contexts": "the contexts that should be retrieved",
}


@dataclass(frozen=True)
class Proposal:
    """A first configuration.

    Attributes:
        text: of the file.
        survey: what the rows hold.
        metrics: proposed.
        possible: other metrics that the columns allow.
        language: of the rows.
        warnings: what the user should know before the run.
    """

    text: str
    survey: Survey
    metrics: Sequence[str]
    possible: Sequence[str]
    language: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class InitOptions:
    """What the user has set; None or empty: `propose` chooses.

    Attributes:
        out: where the configuration will be written; paths in it count from its folder.
        judge, embeddings: folders or hub ids of models.
        columns: the user's names of columns, as in the configuration.
    """

    out: Path
    name: str | None = None
    language: str | None = None
    metrics: Sequence[str] = ()
    judge: str = DEMO
    embeddings: str = DEMO
    columns: Mapping[str, str] | None = None


def propose(data: Path, options: InitOptions) -> Proposal:
    """A configuration for a file of rows; the file of the configuration is not written.

    Loads no model. Raises `DatasetError` for rows that cannot be read or allow no metric, `ModelError` for a folder
    that holds no judge, `ConfigError` for a language that is not recognised, and for names that are none.
    """
    options = _with_models(options)
    surveyed = survey(data.expanduser(), options.columns)
    language = options.language or _language(data, surveyed)
    spoken = find_language(language).name
    possible = [name for name, metric in METRICS.items() if is_possible(metric, surveyed.present)]
    usable = [name for name in possible if embeddings_fit(METRICS[name], spoken, options)]
    metrics = list(options.metrics) or preferred(usable)
    if not metrics:
        raise DatasetError(_no_metric(data, surveyed))
    more = [name for name in possible if name not in metrics]
    parts = Proposal("", surveyed, metrics, more, spoken, list(_warnings(surveyed, spoken, options, metrics, more)))
    proposal = replace(parts, text=text_of(data, options, parts))
    _check(proposal, options)
    return proposal


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there. Raises `ResultsError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise ResultsError(
            f"{path}: is there already, and is not overwritten. Choose another name with --out, or delete it."
        ) from None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error}. Choose another place with --out.") from error


def check_judge(model: str) -> None:
    """Raises `ModelError` for a folder that holds no judge, and a hub id that is not on this machine."""
    find_judge(JudgeConfig(model=model_path(model, Path.cwd())))


def _with_models(options: InitOptions) -> InitOptions:
    """The options with checked models, a folder as it is from everywhere."""
    here = Path.cwd()
    if options.judge != DEMO:
        check_judge(options.judge)
    if options.embeddings != DEMO:
        model = model_path(options.embeddings, here)
        find_model(model, True, "embeddings.model", ("modules.json", "config.json"))
    return replace(options, judge=model_path(options.judge, here), embeddings=model_path(options.embeddings, here))


def _language(data: Path, surveyed: Survey) -> str:
    """Of questions and answers; of contexts where these are too short."""
    for columns in (("user_input", "response", "reference"), LISTS):
        values = (sample.columns.get(column, "") for sample in surveyed.samples for column in columns)
        language = identified(value if isinstance(value, str) else "\n".join(value) for value in values)
        if language:
            return language.name
    raise ConfigError(f"{data.name}: the language of the rows was not recognised. Give it, for instance --language es.")


def _no_metric(data: Path, surveyed: Survey) -> str:
    columns = ", ".join(map(repr, [*(name for names in surveyed.names.values() for name in names), *surveyed.unused]))
    read = ", ".join(surveyed.present) or "none"
    return (
        f"{data.name}: its columns allow no metric: recognised are {read}, received the columns {columns}. Say which "
        f"column holds what: --columns {surveyed.unused[0] if surveyed.unused else 'my_name'}=user_input; the names "
        f"are {', '.join(TEXT_COLUMNS)}."
    )


def _warnings(
    surveyed: Survey, language: str, options: InitOptions, metrics: Sequence[str], more: Sequence[str]
) -> Iterable[str]:
    if language not in (ENGLISH, *languages_in(packaged("prompts"))):
        yield (
            f"the package has no prompts in {language}. Make them with your judge, and read them: "
            + command("prompts", "adapt", "--language", language, "--config", options.out)
        )
    if options.judge == DEMO:
        yield "the judge is a toy to try the program with: set judge.model to the folder of a model of your own"
    unfit = unfit_embeddings(language, options)
    comparing = [name for name in metrics if (row := METRICS.get(canonical_name(name) or "")) and row.embeddings]
    if unfit and comparing:
        yield f"{' and '.join(comparing)} cannot be scored without other embeddings: {unfit}"
    elif unfit and any(METRICS[name].embeddings for name in more):
        yield f"no metric compares embeddings: {unfit}"
    for name in surveyed.paragraphs:
        yield f"cells of {name!r} have blank lines: if these stand between contexts, map it to {LISTS[0]}[\\n\\n]"


def _check(proposal: Proposal, options: InitOptions) -> None:
    """Raises `ConfigError` if what was wished for is no configuration, a metric that is none for instance."""
    base = options.out.expanduser().absolute().parent
    config = make_config(yaml.safe_load(proposal.text), base=base)
    for name, metric in chosen_metrics(config).items():
        missing = [column for column in metric.columns if column not in proposal.survey.present]
        if not is_possible(metric, proposal.survey.present):
            raise ConfigError(f"--metrics: {name} needs {', '.join(missing)}, which no column was recognised as.")


def is_possible(metric: Metric, present: Iterable[str]) -> bool:
    columns = set(present)
    return set(metric.needs(columns.__contains__)) <= columns


def embeddings_fit(metric: Metric, language: str, options: InitOptions) -> bool:
    """Whether the embeddings that a metric needs are there, and are for the language."""
    return not metric.embeddings or unfit_embeddings(language, options) is None


def unfit_embeddings(language: str, options: InitOptions) -> str | None:
    """Why texts of the language cannot be compared with the chosen embeddings, and what to do; None if they can."""
    if options.embeddings != DEMO:
        return None
    if not has_demo_embeddings():
        return f"those of the demo are not installed ({INSTALL}). Install them, or set embeddings.model for {language}"
    if language == ENGLISH:
        return None
    return f"those of the demo are English only. Set embeddings.model for {language}"


def has_demo_embeddings() -> bool:
    try:
        demo_embeddings()
    except ModelError:
        return False
    return True


def preferred(possible: Sequence[str]) -> list[str]:
    chosen = [name for name in PREFERRED if name in possible and INSTEAD_OF.get(name) not in possible]
    return chosen or list(possible[:FEW])


def text_of(data: Path, options: InitOptions, proposal: Proposal) -> str:
    """The text of the configuration."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"scalar": _scalar, "shown": _shown, "comment": _comment, "meaning": _meaning}
    surveyed, base, path = proposal.survey, options.out.expanduser().absolute().parent, data.expanduser().absolute()
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        data=data,
        options=options,
        proposal=proposal,
        survey=surveyed,
        looked=f"its {len(surveyed.samples)} rows" if surveyed.is_all else "its first 1,000 rows",
        name=options.name or run_name(data),
        dataset=str(path.relative_to(base) if path.is_relative_to(base) else path),
        read=_read_unnamed(surveyed),
        metrics=METRICS,
        unfit=[name for name in METRICS if not embeddings_fit(METRICS[name], proposal.language, options)],
        allowed_with=_allowed_with(surveyed.present),
        accepted_names=accepted_names,
        list_metrics=command("list", "metrics"),
        has_demo_embeddings=has_demo_embeddings(),
    )
    lines = (line.partition("\t") for line in text.removesuffix("\n").split("\n"))
    return "".join(f"{start:<{WIDTH}}{comment}\n" if comment else f"{start}\n" for start, _, comment in lines)


def _read_unnamed(surveyed: Survey) -> list[str]:
    """Columns that are read though the configuration does not name them."""
    unnamed = {names[0]: column for column, names in surveyed.names.items() if names[0] not in surveyed.columns}
    return [name if name == column else f"{name} as {column}" for name, column in unnamed.items()]


def _allowed_with(present: Sequence[str]) -> dict[str, list[str]]:
    """Column that is missing -> the preferred metrics that it would allow."""
    allowed = {
        column: [
            name
            for name in PREFERRED
            if is_possible(METRICS[name], [*present, column]) and not is_possible(METRICS[name], present)
        ]
        for column in ("response", "retrieved_contexts", "reference")
        if column not in present
    }
    return {column: names for column, names in allowed.items() if names}


def _meaning(to: str) -> str:
    canonical, bracket, mark = to.partition("[")
    between = f"; several in a cell, with {json.dumps(mark[:-1], ensure_ascii=False)} between them" if bracket else ""
    return TEXT_COLUMNS.get(canonical, canonical) + between


def run_name(data: Path) -> str:
    """A name for the run, after the file: it becomes a folder."""
    name = re.sub(r"[^\w.\- ]", "-", data.stem or data.name).lstrip(".- ")[:100].rstrip(". ")
    return name or "run"


def _comment(text: str, start: str = "# ") -> str:
    """Comment lines of at most `LONGEST` characters, if the words allow it."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(start) + len(lines[-1]) + 1 + len(word) > LONGEST:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(f"{start}{line}" for line in lines)


def _shown(text: str) -> str:
    """A text for a comment, on one line."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _scalar(text: Any) -> str:
    """A text as YAML reads it: in quotes where it would be read as something else."""
    plain = PLAIN.fullmatch(text) is not None and yaml.safe_load(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
