"""What can be seen in a judge's work without labels: the flags of a score, their rules, and sentences about them."""

from collections.abc import Iterable, Iterator, Mapping

from .overview import Figures, counted
from .refusals import REFUSES

UNASKED = "unasked"
FLAGGED = "flagged"  # in a summary: rows with a flag
COPIED = "copied"
FOREIGN = "foreign"
REPEATED = "repeated"
CONTRADICTORY = "contradictory"
INCOMPLETE = "incomplete"
FRAGMENT = "fragment"
CUT = "cut"
LEAST_COPIED = 0.5  # share of a text's n-grams that are the examples' and not the row's
LEAST_NEW = {"question": 0.05, "statement": 0.25}  # share of a text's letters in words of the row that no example has
STEM = 4  # letters that two forms of a name share at the beginning, at least
ENDING = 6  # that follow in either, at most
LEAST_OWN = 0.15  # share of a text's n-grams that are the prompt's; below it the text is foreign
# letters, and those in Han, kana and Hangul: a shorter text is not called foreign
SHORTEST = 36
SHORTEST_DENSE = 12
LEAST_COVERED = 0.5  # share of the n-grams of a divided text that its parts have
REASONS: Mapping[str, str] = {
    COPIED: "the judge repeats the example of its prompt",
    FOREIGN: "the judge wrote nothing about this row",
    CONTRADICTORY: "the judge gave the same statement both verdicts",
    UNASKED: "the judge gave verdicts on other statements than it was asked",
}
"""Flag -> why a score with it is missing; of `foreign` only where it holds for all texts of an answer."""
EXPLAINED = {
    COPIED: ": it repeats an example of its prompt",
    FOREIGN: ": it writes about something that is not in the row",
    REPEATED: ": it writes a text twice",
    INCOMPLETE: ": its statements leave out more than half of the text",
    FRAGMENT: ": it ends in the middle of a sentence",
    CUT: ": its list has reached the limit",
}
AGAIN = "give these rows what they lack, and run the command of the run again with --update"
BOUND = "refusals have nothing to score: bound them with --max refusals=NUMBER"
LARGER = "take a larger judge, as --update asks nothing again where the judge's work was refused"
MANY_FLAGGED = 0.1  # share of rows above which a sentence says so
MUCH = 0.1  # difference of two runs' shares of flagged rows above which a comparison says so
SHOWN = 3  # reasons in a sentence
RULES = (
    f"copied: at least {LEAST_COPIED:.0%} of the 6-grams of a text (3-grams in Han, kana, Hangul) are in the answers "
    "of the prompt's examples and nowhere in the row, and words that the row has and no example are less than "
    f"{LEAST_NEW['question']:.0%} of the letters of a question, {LEAST_NEW['statement']:.0%} of a statement; of a name "
    "or key phrase the whole is in the answers, and a word of it not in the row. "
    f"foreign: less than {LEAST_OWN:.0%} of its 4-grams (2-grams) are in the texts that the prompt shows of the row; "
    f"it has at least {SHORTEST} letters ({SHORTEST_DENSE}). A name or key phrase is foreign if it does not stand "
    f"there, and no word of it begins like a word there: the first {STEM} letters or two thirds of it are the same, "
    f"and at most {ENDING} letters follow what is the same. Articles and months do not count; of a name with capitals "
    "these words do, with capitals there, or more than half of all; in scripts without spaces, in Arabic and in Hebrew "
    "any two thirds of a word. "
    "repeated: equal to an earlier text of the same answer. contradictory: equal texts with different verdicts. Equal "
    "texts have the same signs but for case, spaces, a last full stop and the vowel signs of Arabic, Hebrew, Syriac. "
    "unasked: a verdict is about another text than was asked, or a text has none. "
    f"incomplete: the texts have less than {LEAST_COVERED:.0%} of the 4-grams (2-grams) of the text that they divide. "
    "fragment: the text has no end of a sentence, and its last words stand in a sentence of the divided text that goes "
    "on after them. cut: the list of texts reached its limit, and its last whole text ends in the last tenth of the "
    "divided text. "
    "A score is missing if a text is copied, all texts of an answer are foreign, equal ones have different "
    "verdicts, or one is unasked.",
    "no figure: fewer than half of the rows that have the columns have a score.",
)


BY_VERIFIER: Mapping[str, str] = {
    "faithfulness": "groundedness",
    "context_recall": "context_coverage",
    "factual_correctness": "reference_agreement",
}
"""Metric whose statements the judge writes -> one that a verifier scores without it."""


def without_figure(summary: Mapping[str, Figures]) -> Iterator[str]:
    """Metrics that have no mean although rows were judged, with what the judge did, and what to do."""
    for name, row in summary.items():
        if row["mean"] is None and row["reasons"]:
            missing = sum(row["reasons"].values())
            rows = counted(row["count"], "row")
            first, *others = [f"in {count:,} {reason}" for reason, count in row["reasons"].items()][:SHOWN]
            why = "; ".join([first, *(text.replace(" the judge ", " it ", 1) for text in others)])
            yield f"{name} has no figure: {missing:,} of {rows} could not be scored ({why}).{advice(name, row)}"


def advice(metric: str, row: Figures) -> str:
    """What to do where a judge's work costs scores; empty where it does not."""
    if not set(row["reasons"]) & set(REASONS.values()):
        return ""
    other = next((other for name, other in BY_VERIFIER.items() if metric.startswith(name)), None)
    return f" Take a larger judge{f', or `{other}` with a verifier' if other else ''}."


def remedy(reasons: Iterable[str]) -> str:
    """What to do about missing scores; `reasons`: why they are missing, none where nobody has kept them."""
    kinds = [
        BOUND if REFUSES in reason else LARGER if reason.endswith(tuple(REASONS.values())) else AGAIN
        for reason in reasons
    ]
    return "; ".join(dict.fromkeys(kinds or [AGAIN]))


def many_flagged(summary: Mapping[str, Figures]) -> Iterator[str]:
    """The metric with the largest share of flagged rows, of those that have a figure, where that is large."""
    shares = {name: flagged_share(row) for name, row in summary.items() if row["mean"] is not None}
    shares = {name: share for name, share in shares.items() if share > MANY_FLAGGED}
    if not shares:
        return
    name = max(shares, key=lambda metric: shares[metric])
    row = summary[name]
    others = len(shares) - 1
    more = f", and so in {counted(others, 'other metric')}" if others else ""
    flags = "; ".join(f"{flag} {count:,}{EXPLAINED.get(flag, '')}" for flag, count in row["flags"].items())
    rows = counted(row["count"], "row")
    yield f"In {row[FLAGGED]:,} of {rows} the judge's work for {name} is doubtful ({flags}){more}: read some of them."


def differing(names: tuple[str, str], before: Mapping[str, Figures], after: Mapping[str, Figures]) -> Iterator[str]:
    """Of each metric whose share of flagged rows differs much between two runs, both shares. `names`: of the runs."""
    for metric in (name for name in before if name in after):
        rows = before[metric], after[metric]
        if abs(flagged_share(rows[0]) - flagged_share(rows[1])) > MUCH:
            first, second = (f"{row.get(FLAGGED, 0):,} of {counted(row['count'], 'row')}" for row in rows)
            yield (
                f"The judge's work for {metric} is doubtful in {first} of {names[0]} and in {second} of {names[1]}: "
                "the difference may be the judge's."
            )


def flagged_share(row: Figures | None) -> float:
    """The share of a metric's rows in which the judge's work is flagged, [0, 1]; `row`: of the summary."""
    return row.get(FLAGGED, 0) / row["count"] if row and row["count"] else 0.0
