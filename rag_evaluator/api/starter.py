"""`propose`: a first configuration for a file of rows: columns, language, contexts, metrics that they allow."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from rag_evaluator.api.starter_parts import Proposal, Wishes, embeddings_fit, is_possible, preferred, unfit_embeddings
from rag_evaluator.api.starter_text import TEXT_COLUMNS, run_name, text_of
from rag_evaluator.config import make_config, model_path
from rag_evaluator.config_sections import DEMO, JudgeConfig
from rag_evaluator.dataset.columns import LISTS
from rag_evaluator.dataset.survey import Survey, survey
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.judge.engine.transformers.model_folder import find_judge
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.chosen import chosen_metrics
from rag_evaluator.metrics.table import METRICS, canonical_name
from rag_evaluator.models.hub import find_model
from rag_evaluator.program import command
from rag_evaluator.prompts.check import languages_in
from rag_evaluator.prompts.language_id import identified
from rag_evaluator.prompts.pack import ENGLISH
from rag_evaluator.resources import packaged

__all__ = ["Proposal", "Wishes", "check_judge", "propose", "run_name", "write_new"]


def propose(data: Path, wishes: Wishes) -> Proposal:
    """A configuration for a file of rows; the file of the configuration is not written.

    Loads no model. Raises `DatasetError` for rows that cannot be read or allow no metric, `ModelError` for a folder
    that holds no judge, `ConfigError` for a language that is not recognised, and for names that are none.
    """
    wishes = _with_models(wishes)
    surveyed = survey(data.expanduser(), wishes.columns)
    language = wishes.language or _language(data, surveyed)
    spoken = find_language(language).name
    possible = [name for name, metric in METRICS.items() if is_possible(metric, surveyed.present)]
    usable = [name for name in possible if embeddings_fit(METRICS[name], spoken, wishes)]
    metrics = list(wishes.metrics) or preferred(usable)
    if not metrics:
        raise DatasetError(_no_metric(data, surveyed))
    others = [name for name in possible if name not in metrics]
    parts = Proposal("", surveyed, metrics, others, spoken, list(_warnings(surveyed, spoken, wishes, metrics, others)))
    proposal = replace(parts, text=text_of(data, wishes, parts))
    _check(proposal, wishes)
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


def _with_models(wishes: Wishes) -> Wishes:
    """The wishes with checked models, a folder as it is from everywhere."""
    here = Path.cwd()
    if wishes.judge != DEMO:
        check_judge(wishes.judge)
    if wishes.embeddings != DEMO:
        model = model_path(wishes.embeddings, here)
        find_model(model, True, "embeddings.model", ("modules.json", "config.json"))
    return replace(wishes, judge=model_path(wishes.judge, here), embeddings=model_path(wishes.embeddings, here))


def _language(data: Path, surveyed: Survey) -> str:
    """Of questions and answers; of contexts where these are too short."""
    for columns in (("user_input", "response", "reference"), LISTS):
        values = (sample.columns.get(column, "") for sample in surveyed.samples for column in columns)
        found = identified(value if isinstance(value, str) else "\n".join(value) for value in values)
        if found:
            return found.name
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
    surveyed: Survey, language: str, wishes: Wishes, metrics: Sequence[str], others: Sequence[str]
) -> Iterable[str]:
    if language not in (ENGLISH, *languages_in(packaged("prompts"))):
        yield (
            f"the package has no prompts in {language}. Make them with your judge, and read them: "
            + command("prompts", "adapt", "--language", language, "--config", wishes.out)
        )
    if wishes.judge == DEMO:
        yield "the judge is a toy to try the program with: set judge.model to the folder of a model of your own"
    unfit = unfit_embeddings(language, wishes)
    comparing = [name for name in metrics if (row := METRICS.get(canonical_name(name) or "")) and row.embeddings]
    if unfit and comparing:
        yield f"{' and '.join(comparing)} cannot be scored without other embeddings: {unfit}"
    elif unfit and any(METRICS[name].embeddings for name in others):
        yield f"no metric compares embeddings: {unfit}"
    for name in surveyed.paragraphs:
        yield f"cells of {name!r} have blank lines: if these stand between contexts, map it to {LISTS[0]}[\\n\\n]"


def _check(proposal: Proposal, wishes: Wishes) -> None:
    """Raises `ConfigError` if what was wished for is no configuration, a metric that is none for instance."""
    base = wishes.out.expanduser().absolute().parent
    config = make_config(yaml.safe_load(proposal.text), base=base)
    for name, metric in chosen_metrics(config).items():
        missing = [column for column in metric.columns if column not in proposal.survey.present]
        if not is_possible(metric, proposal.survey.present):
            raise ConfigError(f"--metrics: {name} needs {', '.join(missing)}, which no column was recognised as.")
