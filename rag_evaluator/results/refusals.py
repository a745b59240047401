"""How many responses refuse to answer: in a sentence, and as a table with which of them should."""

from collections.abc import Iterator, Mapping

from .overview import Figures, Grid, counted, interval

ANSWERED = "answered"  # of a metric in `summary.json`: figures of the rows that do not refuse
REFUSALS = "refusals"
DISAGREE = "disagree"  # rows in which the judge and the words do not say the same of a refusal
REFUSES = "refuses to answer"  # in the reason why a refusal has no score
NAMED = 0.05  # share of rows from which on the first sentence names them
KINDS = ("answerable", "unanswerable")


def refusals_of(summary: Mapping[str, Figures]) -> Figures:
    """The refusals of a run, of which all its metrics say the same; empty where there are none."""
    return next((row[REFUSALS] for row in summary.values() if REFUSALS in row), {})


def of_answers(row: Figures) -> Figures:
    """The figures of a metric less the refusals that have no score: such a row does not lack one."""
    if REFUSALS not in row:
        return row
    reasons = {reason: rows for reason, rows in row["reasons"].items() if REFUSES not in reason}
    return {**row, "count": row["count"] - sum(row["reasons"].values()) + sum(reasons.values()), "reasons": reasons}


def refusal_sentence(summary: Mapping[str, Figures]) -> Iterator[str]:
    """`12 of 40 responses refuse to answer (30 % [18, 46]), 9 of them where the question can be answered.`"""
    row = refusals_of(summary)
    if row and row["mean"] >= NAMED:
        low, high = (100 * (row[end] or 0) for end in ("ci_low", "ci_high"))
        of = f"{row['refused']:,} of {counted(row['count'], 'response')}"
        known = KINDS[0] in row
        can = f", {row[KINDS[0]]['refused']:,} of them where the question can be answered" if known else ""
        judged = ", by the word of the judge" if "judge" in row["by"] else ""
        verb = "refuses" if row["refused"] == 1 else "refuse"
        yield f"{of} {verb} to answer ({100 * row['mean']:.0f} % [{low:.0f}, {high:.0f}]){can}{judged}."
    if disagree := row.get(DISAGREE):
        yield f"The judge and the words disagree on refusals in {disagree:,} of {counted(row['count'], 'row')}."


def refusal_table(summary: Mapping[str, Figures]) -> Grid | None:
    """Which questions were answered and refused; None where nobody says which can be answered."""
    row = refusals_of(summary)
    if KINDS[0] not in row:
        return None
    columns = [("question", "left"), ("answered", "right"), ("refused", "right")]
    return Grid(
        "refusals", columns, [[kind, *(f"{row[kind][it]:,}" for it in ("answered", "refused"))] for kind in KINDS]
    )


def refusal_parts(summary: Mapping[str, Figures]) -> Iterator[Grid | str]:
    """What is shown below a table of means: means of the rows that answer, and the table."""
    yield from (f"  {name}: {note}" for name, row in summary.items() if (note := answered_note(row)))
    if table := refusal_table(summary):
        yield table


def answered_note(row: Figures) -> str:
    """`answered rows: 0.81 [0.74, 0.86], 28 scored`; empty where these are all scored rows."""
    of = row.get(ANSWERED)
    if of is None or of["scored"] == row["scored"]:
        return ""
    return f"answered rows: {interval(of)}, {of['scored']:,} scored"
