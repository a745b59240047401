"""What labels say of a judge, in sentences: one for each metric, by its verdict."""

from collections.abc import Iterator, Sequence
from math import ceil, inf
from pathlib import Path

from rag_evaluator.files import Json
from rag_evaluator.results import Conclusion, about, counted, next_command, the_judge, with_ends, with_ends_beside
from rag_evaluator.statistics import MOST_ROWS

from .counting import BEATS, RULE, besides
from .feature import SHEET
from .standing import THRESHOLDS
from .verdict import (
    CHANCE,
    GOOD,
    LEAST,
    LEAST_RARER,
    LEVEL,
    SAME_LABELS,
    SAME_SCORES,
)

Figures = Json  # of a metric, as in `certificate.json`. Any: JSON
SHEET_SIZE = 100  # labels of a next sheet, at least
BLANK = 0.1  # share of the drawn rows; with fewer blank ones people were not sure
RULES = (
    "pairs: of a row that people accept and one that they reject, the share in which the first has the better score; "
    "equal scores count half, 50 % is chance. It is the AUC.",
    f"useful: the low end of the {100 * LEVEL:g} % interval is at least {100 * GOOD:g} %; worse than chance: the high "
    f"end is below {100 * CHANCE:g} %; better than chance: the low end is above {100 * CHANCE:g} %, and weak if the "
    f"high end is below {100 * GOOD:g} %; not shown: else.",
    f"too few labels: fewer than {LEAST}, or fewer than {LEAST_RARER} of the rarer class.",
    RULE,
)
RULE_OF_THRESHOLD = (
    "threshold: the one with the highest balanced accuracy over all labels, of several the nearest to 0.5. The "
    "balanced accuracy beside it is cross-fitted: each of five folds is judged by the threshold that the other four "
    "choose; the sentences of a row are in one fold."
)
BY_WORD = {
    "useful": "{subject} useful for {metric}: {figures}.",
    "worse than chance": "{subject} worse than chance for {metric}: {figures}.",
    "weak": "{subject} weak for {metric}, better than chance but not useful: {figures}.",
    "better than chance, quality not settled": (
        "{subject} better than chance for {metric}, quality not settled: {figures}."
    ),
    "not shown": "Not shown for {metric}: that {inside} better than chance. {figures}.",
    "too few labels": "Too few labels for {metric}: {figures}.",
}
"""Word of a verdict -> the sentence."""
UNPROVED = "useful for {metric}, but not shown to beat counting {name}:"
UNSETTLED = ("not shown", "better than chance, quality not settled")
FEW = ("too few labels", "not shown", "better than chance, quality not settled")  # more labels may settle it


def certify_conclusion(certificate: Json, config: Json, folder: Path, is_like: bool = False) -> Conclusion:
    """The sentences of a certificate, and the next command.

    Args:
        certificate: what `certificate.json` says.
        config: of the run that was labelled, as its manifest has it.
        folder: of the run.
        is_like: whether the rows of another run were drawn again.
    """
    metrics = certificate["metrics"]
    sentences = [sentence for name, part in metrics.items() for sentence in _sentences(name, part, config)]
    thresholds = certificate.get(THRESHOLDS) or {}
    sentences += [_of_threshold(metric, found) for metric, found in thresholds.items()]
    rules = (*RULES, RULE_OF_THRESHOLD) if thresholds else RULES
    parts = list(metrics.values())
    if blank := max(map(_blank, filter(_is_open, parts)), default=0):
        these = "row that is" if blank == 1 else f"{blank:,} rows that are"
        return Conclusion([*sentences, f"Fill in the {these} blank, then give the same command."], rules=rules)
    return Conclusion(sentences, _next(parts, certificate["rows"], folder, is_like), rules)


def _sentences(metric: str, part: Figures, config: Json) -> Iterator[str]:
    """The verdict, and what is known beside counting, by rows and by statements."""
    known = list(besides(metric, part))
    verdict = _sentence(metric, part, config)
    lacking = next((beside.figures["decisive"] for beside in known if beside.figures["word"] != BEATS), None)
    if lacking is not None:  # a claim of worth
        verdict = verdict.replace(f"useful for {metric}:", UNPROVED.format(metric=metric, name=lacking), 1)
    yield verdict
    judge = the_judge(config) if part.get("judge") else "The score"
    for beside in known:
        yield beside.sentence(judge[0].lower() + judge[1:])


def _is_open(part: Figures) -> bool:
    """Whether more labels may settle one of the verdicts."""
    more = any(beside.figures["more_labels"] for beside in besides("", part))
    return more or (part["verdict"]["word"] in FEW and not part["verdict"]["reason"].endswith(SAME_SCORES))


def _blank(part: Figures) -> int:
    """Drawn rows without a label, where they are why there are too few, or at least a tenth of the draw."""
    blank = part.get("blank", 0)
    labels = part.get("labels", 0)
    return blank if labels < LEAST or blank >= BLANK * (blank + labels) else 0


def _of_threshold(metric: str, found: Figures) -> str:
    """The threshold that labels chose, and how good it is on others, beside 0.5."""
    chosen, half = (
        with_ends(found[name]["value"], found[name]["ci_low"], found[name]["ci_high"])
        for name in ("balanced_accuracy", "at_half")
    )
    return (
        f"The best threshold for sentences of {metric} is {found['threshold']:.3g}, by "
        f"{counted(found['labels'], 'label')} of sentences in {counted(found['rows'], 'row')}: balanced accuracy "
        f"{chosen} on labels that did not choose it; 0.5 has {half}."
    )


def _sentence(metric: str, part: Figures, config: Json) -> str:
    """Who is useful, the judge or the scores of a metric that asks none; and the share of pairs behind it."""
    verdict = part["verdict"]
    subject = f"{the_judge(config)} is"
    ranks = "it ranks"
    if part.get("judge") is None:
        subject = "The scores are"
        ranks = "they rank"
    figures = verdict["reason"]
    if verdict["word"] != "too few labels" and not figures.endswith((SAME_SCORES, SAME_LABELS)):
        area, pair, labels = _judged(part)
        if area["ci_level"] == LEVEL:
            share, low, high = (100 * area[name] for name in ("value", "ci_low", "ci_high"))
            percent = with_ends_beside([100 * CHANCE, 100 * GOOD], share, low, high, digits=0)
            figures = f"{ranks} {pair} in {percent.replace(' [', ' % [')} of pairs"
            figures += f" (by {part['ranked_by']})" if "ranked_by" in part else ""
        unknown = " (nobody knows how these rows were chosen)" if part.get("chosen") == "unknown" else ""
        needed = _times(part) * part.get("compared", part.get("statements", {}).get("labels", 0))
        figures = f"{figures}, by {labels}{unknown}"
        if part["verdict"]["word"] in UNSETTLED and needed <= MOST_ROWS:
            figures += f"; {about(needed)} labels like these would settle it"
    if verdict["word"] == "not shown":
        figures = figures[0].upper() + figures[1:]
    inside = subject[0].lower() + subject[1:]
    return BY_WORD[verdict["word"]].format(subject=subject, inside=inside, metric=metric, figures=figures)


def _judged(part: Figures) -> tuple[Figures, str, str]:
    """The AUC or concordance that a verdict rests on, what is ranked, and how many labels there are."""
    if "graded" in part:
        pair = "the better one of two rows with different labels higher"
        return part["graded"]["concordance"], pair, counted(part["compared"], "label")
    if "binary" in part:
        return part["binary"]["auc"], "an accepted row above a rejected one", counted(part["compared"], "label")
    statements = part["statements"]
    labels = f"{counted(statements['labels'], 'label')} of statements in {counted(statements['rows'], 'row')}"
    return statements["binary"]["auc"], "a statement that people accept above one that they reject", labels


def _times(part: Figures) -> float:
    """How many times as many labels would settle a verdict if the share stays as it is; 2 where nobody knows it.

    The interval, as wide as one divided by the root of the labels, must leave the limits that it holds.
    """
    if part["verdict"]["word"] not in UNSETTLED or part["verdict"]["reason"].endswith((SAME_SCORES, SAME_LABELS)):
        return 2.0
    area = _judged(part)[0]
    value, low, high = (area[name] for name in ("value", "ci_low", "ci_high"))
    ends = {limit: low if limit < value else high for limit in (CHANCE, GOOD) if low <= limit <= high}
    shares = [((value - end) / (value - limit)) ** 2 if value != limit else inf for limit, end in ends.items()]
    return max(shares, default=2.0)  # nothing is open at another level of the interval


def _next(parts: Sequence[Figures], rows: int, folder: Path, is_like: bool) -> str:
    """More labels where they may settle it, and there are more rows; else the reasons of the judge.

    A draw of its own would end the comparison with the run whose rows were drawn again.
    """
    if is_like or all(part["verdict"]["word"] == "useful" and not _is_open(part) for part in parts):
        return next_command(("compare", "BASELINE", folder))
    labelled = [
        int(part.get("compared", part.get("statements", {}).get("rows", 0))) for part in parts if _is_open(part)
    ]
    times = max((_times(part) for part in parts if _is_open(part)), default=1.0)
    size = min(rows, max([SHEET_SIZE, *(ceil(min(2.0, times) * count / 10) * 10 for count in labelled)]))
    if labelled and size >= LEAST and size > max(labelled):
        return next_command((SHEET, folder, "--size", size, "--out", f"to_label_{size}.xlsx"))
    return next_command(("view", folder), ("report", folder))
