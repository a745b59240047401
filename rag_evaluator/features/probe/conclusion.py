"""What a judge notices, in sentences: for each metric which kinds of change, and what it finds where there is none."""

import math
from collections.abc import Iterator, Mapping, Sequence

from rag_evaluator.files import Json
from rag_evaluator.results import Conclusion, counted, next_command, with_ends_beside

from .control import RULE, control_sentences, percent
from .orders import INJECTED, injection_sentences
from .orders import RULE as RULE_OF_ORDERS
from .verdicts import ALPHA, CHANCE, LIMITS

Cells = Mapping[str, Json]  # probe -> its figures, as in `probe.json`. Any: JSON
SPARE = 1.5  # times as many rows as were needed if every sample held the same share of pairs
STEP = 10  # rows
NOTICED = ("reliable", "weak")
NOT_NOTICED = {
    "wrong way": "wrong way",
    "not above the control": "not shown to fall more often than with same_text, which makes nothing worse",
    "no better than chance": "no better than chance",
    "undecided": "not settled",
    "always worst": "the worst score for every text, the good ones too, so that a larger sample does not help",
    "too few": "too few pairs that count",
}
"""Word of a kind of change that is not noticed -> what the sentence calls it."""
RULES = (
    "share: the part of the pairs of a kind of change in which the changed side is worse; equal scores count half, "
    f"{CHANCE:g} is chance. Behind it is its 95 % interval.",
    "noticed: reliable, or weak: the low end is above chance, after Holm over all kinds of change of all metrics "
    f"(p at most {ALPHA:g}); and so is the 95 % interval of its paired difference from the share of same_text, "
    "the control that makes nothing worse, above 0.",
    f"reliable: the low end is at least {LIMITS['reliable']:g}, and the upper end of the metric's false alarms at most "
    f"{LIMITS['false_alarms']:g}.",
    "false alarms: the part of the rows that were not made worse and got another score, by the worst control.",
)


def probe_conclusion(report: Json, judges: Mapping[str, str], words: Sequence[object] = ()) -> Conclusion:
    """The sentences of a probe, and the next command.

    Args:
        report: what `probe.json` says.
        judges: metric -> what it asks, see `the_judge`; those that ask none are not there.
        words: the configuration and the keys of the command; empty where it was called from Python.
    """
    metrics: Mapping[str, Cells] = report["metrics"]
    of_metrics = [_of_metric(metric, cells, judges.get(metric)) for metric, cells in metrics.items()]
    control = report.get("control", {})
    injected = report.get(INJECTED, {})
    sentences = [*of_metrics, *injection_sentences(injected), *control_sentences(control), *_of_alarms(report)]
    if all(cell["missing"] == cell["pairs"] for cells in metrics.values() for cell in cells.values()):
        sentences = [f"Nothing is known: none of the changed rows ({report['rows']} were drawn) has both scores."]
    rules = [*RULES, *([RULE] if control else []), *([RULE_OF_ORDERS] if injected else [])]
    return Conclusion(sentences, _next(report, words) if words else "", rules)


def _of_metric(metric: str, cells: Cells, judge: str | None) -> str:
    """`The judge notices 2 of 5 kinds of change in faithfulness, 1 of them reliably: ...`; then the other kinds."""
    by_word: dict[str, list[str]] = {}
    for probe, cell in cells.items():
        if cell["word"] is not None:
            word = "noticed" if cell["word"] in NOTICED else NOT_NOTICED[cell["word"]]
            by_word.setdefault(word, []).append(_share(probe, cell))
    changes = sum(map(len, by_word.values()))
    noticed = by_word.pop("noticed", [])
    if not changes:
        return f"Only false alarms were tested in {metric}: no row could be changed so that its score must be worse."
    others = [f"{words}: {', '.join(by_word[words])}" for words in NOT_NOTICED.values() if words in by_word]
    subject, where = (metric, "") if judge is None else (judge, f" in {metric}")
    if not noticed:
        kinds = "the only kind" if changes == 1 else f"any of {changes} kinds"
        first = f"Not shown that {subject[0].lower()}{subject[1:]} notices {kinds} of change{where}"
    else:
        reliable = sum(cell["word"] == "reliable" for cell in cells.values())
        share = "all" if reliable == len(noticed) else reliable or "none"
        kinds = f"{len(noticed)} of {counted(changes, 'kind')} of change{where}"
        first = f"{subject} notices {kinds}, {share} of them reliably: {', '.join(noticed)}"
    words = [probe for probe, cell in cells.items() if cell["counting_words"]["word"] in NOTICED]
    by_words = f"Counting words notices {f'{len(words)}: ' if words else 'none'}{', '.join(words)}."
    return f"{'; '.join([first, *others])}. {by_words}"


def _share(probe: str, cell: Json) -> str:
    """`other_answer 0.82 [0.68, 0.90]`; of too few pairs how many count."""
    share = cell["share"]
    if cell["word"] == "always worst":
        return f"{probe} ({cell['floor']} pairs)"
    if cell["word"] == "too few":
        return f"{probe} ({share['n']} of {cell['pairs']})"
    return f"{probe} {with_ends_beside([CHANCE], share['mean'], share['ci_low'], share['ci_high'])}"


def _of_alarms(report: Json) -> Iterator[str]:
    """The metrics whose false alarms are not shown to be few, each with its worst control."""
    most = LIMITS["false_alarms"]
    alarms: dict[str, list[str]] = {"too many": [], "not shown to be few": []}
    for metric, cells in report["metrics"].items():
        shares = {probe: cell["share"] for probe, cell in cells.items() if cell["word"] is None and cell["share"]["n"]}
        probe = max(shares, key=lambda name: float(shares[name]["ci_high"]), default="")
        if probe and shares[probe]["ci_high"] > most:
            word = "too many" if shares[probe]["ci_low"] > most else "not shown to be few"
            rows = counted(shares[probe]["n"], "row")
            alarms[word].append(f"{metric} ({percent(shares[probe], most)} of {rows}, {probe})")
    groups = [f"{word} in {', '.join(where)}" for word, where in alarms.items() if where]
    if groups:
        yield (
            f"False alarms, scores that change although nothing became worse: {'; '.join(groups)}. "
            f"A reliable metric has at most {100 * most:g} %."
        )


def _next(report: Json, words: Sequence[object]) -> str:
    """A larger sample where it may settle more and there may be more rows; else a check of the judge, or the run."""
    cells = [cell for part in report["metrics"].values() for cell in part.values() if cell["word"] is not None]
    sample = report["settings"]["sample"]
    if any(cell["word"] == "always worst" for cell in cells):
        return next_command(("check", *words))
    needed = max((_enough(sample, cell) for cell in cells if cell["word"] in ("undecided", "too few")), default=0)
    needed = min(needed, report.get("of", needed))  # older reports do not say of how many rows they are
    if report["rows"] == sample < needed:
        return next_command(("probe", *words, "--sample", needed))
    return next_command(("evaluate", *words))


def _enough(sample: int, cell: Json) -> int:
    """About how many rows would decide about a kind of change; 0 where a larger sample would not, or nobody knows it.

    So many pairs count then that the interval cannot hold both chance and a useful share.
    """
    share = cell["share"]
    if not share["n"]:
        return 2 * sample if sample < LIMITS["pairs"] else 0
    width = (share["ci_high"] - share["ci_low"]) / (LIMITS["useless"] - CHANCE)
    pairs = max(LIMITS["pairs"], share["n"] * width**2)
    return math.ceil(SPARE * sample * pairs / share["n"] / STEP) * STEP if pairs > share["n"] else 0
