"""`rag-evaluator compare`, `gate` and `report`: what finished runs say, alone or beside each other."""

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.comparison import MARK, write_junit, write_report
from rag_evaluator.comparison import compare as compare_runs
from rag_evaluator.comparison import gate as check
from rag_evaluator.dataset import harmless
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files import check_replaceable, write_whole
from rag_evaluator.results import (
    DIRECTIONS,
    GROUPS,
    ChangedScore,
    Comparison,
    Grid,
    Run,
    ScorePair,
    as_markdown,
    conclude_run,
    from_to,
    listed,
    number,
    one_line,
    show,
    worst_rows,
)
from rag_evaluator.statistics import MEAN, parse_limit

from .console import console, parts_of, print_json, print_parts, say
from .options import FAILED, NOT_SETTLED, OK, STDOUT
from .watching import hide_bar

LINES = 40  # of a terminal
ROWS = 2  # that changed, of each direction, in a terminal
HEADER = b"run,metric,better,group_by,group,n,"  # how the table begins


def compare(options: argparse.Namespace) -> int:
    """`rag-evaluator compare results/a results/b`."""
    if options.csv:
        check_replaceable(options.csv, HEADER, options.force, options.runs)
    groups = options.group_by or None  # else those of the baseline's configuration
    comparison = compare_runs(*options.runs, effect=options.effect, group_by=groups, **_pairing(options))
    if options.csv:
        _write_csv(comparison.records(), options.csv)
    if options.json:
        print_json(comparison.to_json())
        return OK
    parts = _of_comparison(comparison)
    if not _is_markdown(options, " → ".join(comparison.runs), parts):
        print_parts(_few_lines(comparison))
    return OK


def _few_lines(comparison: Comparison) -> Iterator[Grid | str]:
    """The same in `LINES` lines where sentences and tables leave room: fewer groups, fewer rows that changed."""
    parts = list(comparison.overview())
    kinds = [(change.run, change.direction) for change in comparison.changed]
    changed = [change for at, change in enumerate(comparison.changed) if kinds[:at].count(kinds[at]) < ROWS]
    lines = list(_of_changes(changed, several=len(comparison.matches) > 1))
    room = LINES - 1 - _height([_cut(part, 0) for part in parts])
    groups = len(comparison.groups)
    end = max(min(len(lines), room // 2 if groups else room), 0)
    while 0 < end < len(lines) and (lines[end].startswith("    ") or not lines[end - 1].startswith(" ")):
        end -= 1  # to the end of a row
    rows = groups
    while rows and _height(_cut(part, rows) for part in parts) >= LINES - end:
        rows = max(min(rows, room) - 1, 0)
    yield from (_cut(part, rows) for part in parts)
    yield from lines[:end]
    if end < len(lines) or len(changed) < len(kinds) or rows < groups:
        yield "Not everything is shown here: the report, --markdown and --json have all."


def _cut(part: Grid | str, rows: int) -> Grid | str:
    """The part; of a table of groups the first rows."""
    return replace(part, rows=part.rows[:rows]) if isinstance(part, Grid) and part.title == GROUPS else part


def _height(parts: Iterable[Grid | str]) -> int:
    """How many lines they take."""
    screen = console()
    with screen.capture() as text:
        show(parts, screen)
    return text.get().count("\n")


def _of_comparison(comparison: Comparison) -> list[Grid | str]:
    """What must be known first, then the tables, then rows that changed."""
    return [*comparison.overview(), *_of_changes(comparison.changed, several=len(comparison.matches) > 1)]


def _of_run(folder: Path) -> Iterator[Grid | str]:
    """What a run says, its means, and its worst rows."""
    run = Run(folder)
    yield from conclude_run(run).lines()
    yield from parts_of("means", run.summary)
    columns = [(heading, "left") for heading in ("worst row", "scores", "question", "response", "why")]
    rows = [
        [
            row.name,
            ", ".join(f"{score.metric} {number(score.value, 2)}" for score in row.scores),
            *map(one_line, (row.question, row.response, row.reason)),
        ]
        for row in worst_rows(run)
    ]
    if rows:
        yield Grid("rows to look at first", columns, rows)


def _is_markdown(options: argparse.Namespace, title: str, parts: Iterable[Grid | str]) -> bool:
    """Whether standard output holds Markdown alone, which is written here, or to the file beside it.

    Raises `ResultsError` if the file cannot be written.
    """
    path = options.markdown
    if path == STDOUT:
        hide_bar()
        print(as_markdown(title, parts), end="")
    elif path is not None:
        try:
            with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write("\n" * bool(file.tell()) + as_markdown(title, parts))
        except OSError as error:
            raise ResultsError(f"{path}: cannot be written: {error}. Choose another name.") from error
    return bool(path == STDOUT)


def _of_changes(changes: Sequence[ChangedScore], several: bool) -> Iterator[str]:
    """The rows that changed most, with what the judge said of them."""
    heading = ""
    for change in changes:
        above = DIRECTIONS[change.direction] + (f", {change.run}" if several else "")
        if above != heading:
            heading = above
            yield f"{heading}:"
        yield f"  row {change.name}: {_scores(change)}  {one_line(change.question or change.key)}"
        for sentence, reason in change.says():
            yield f"    {one_line(sentence + (f'. {reason}' if reason else ''))}"
        if change.also:
            yield f"    also changed: {listed(map(_scores, change.also))}"
        if change.response_a != change.response_b:
            yield f"    first:  {one_line(change.response_a or '-')}"
            yield f"    second: {one_line(change.response_b or '-')}"


def _scores(change: ChangedScore | ScorePair) -> str:
    return f"{change.metric} {' → '.join(from_to(change.a, change.b))}"


def _write_csv(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\r\n")
            lines.writerow(records[0])
            for record in records:
                lines.writerow(map(harmless, record.values()))

    write_whole(path, write)


def gate(options: argparse.Namespace) -> int:
    """`rag-evaluator gate results/demo --min faithfulness=0.8`."""
    if options.junit:
        check_replaceable(
            options.junit, MARK, options.force, [options.run, options.not_worse_than, options.fail_if_worse]
        )
    rules = [parse_limit("--min", "min", text) for text in options.min]
    rules += [parse_limit("--max", "max", text) for text in options.max]
    verdicts = check(
        options.run,
        [*rules, *(options.required or ())],
        not_worse_than=options.not_worse_than,
        fail_if_worse=options.fail_if_worse,
        min_coverage=options.min_coverage,
        **_pairing(options),
    )
    if options.junit:
        write_junit(verdicts, options.run.resolve().name, options.junit, options.fail_if_not_settled)
    code = OK if verdicts.passed else FAILED
    if code == OK and verdicts.not_settled and options.fail_if_not_settled:
        code = NOT_SETTLED
    if options.json:
        shown = [verdict.to_json() for verdict in verdicts]
        conclusion = verdicts.conclusion.to_json()
        print_json({"run": str(options.run), "passed": verdicts.passed, "conclusion": conclusion, "verdicts": shown})
        return code
    if not _is_markdown(options, str(options.run), verdicts.overview()):
        print_parts(verdicts.conclusion.lines())
        for verdict in verdicts:
            if verdict.measured.notes and verdict.passed:  # a failure is named above
                say(f"{verdict.state}: {verdict.rule}: {'; '.join(verdict.measured.notes)}")
    return code


def _pairing(options: argparse.Namespace) -> dict[str, Any]:
    """What `compare` and `gate` share: which rows belong together, and which differences count. Raises `ConfigError`.

    Any: arguments of the functions of these names.
    """
    better = {}
    for text in options.better:
        metric, sign, end = text.rpartition("=")
        if not sign or not metric:
            expected = "expected METRIC=higher or METRIC=lower, such as --better toxicity=lower"
            raise ConfigError(f"--better {text}: {expected}")
        better[metric] = end
    return {"on": options.on, "cluster": options.cluster, "margin": _margin(options.margin), "better": better}


def _margin(texts: list[str]) -> float | dict[str, float] | None:
    """One margin for all metrics, or one for each that is named. Raises `ConfigError`."""
    if not texts:
        return None
    if any("=" in text for text in texts):
        rules = [parse_limit("--margin", "not worse", text) for text in texts]
        return {(MEAN if rule.of_mean else "") + rule.metric: rule.number for rule in rules}
    try:
        [number] = map(float, texts)
    except ValueError:
        expected = "expected one number for all metrics, or METRIC=NUMBER each."
        raise ConfigError(f"--margin {' '.join(texts)}: {expected}") from None
    return number


def report(options: argparse.Namespace) -> int:
    """`rag-evaluator report results/a results/b`."""
    about = {"on": options.on, "group_by": options.group_by or None}
    path = write_report(*options.runs, out=options.out, force=options.force, title=options.title, **about)
    parts: Iterable[Grid | str] = ()
    if options.markdown is not None:
        first, *others = options.runs
        parts = _of_comparison(compare_runs(first, *others, **about)) if others else _of_run(first)
    if not _is_markdown(options, options.title or " → ".join(map(str, options.runs)), parts):
        say(f"written: {path} ({path.stat().st_size / 1e6:.1f} MB). Open it in a browser.")
    return OK
