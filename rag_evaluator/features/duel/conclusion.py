"""Which of two runs answers better, in sentences."""

from collections.abc import Iterator, Sequence

from rag_evaluator.files import Json
from rag_evaluator.results import Conclusion, counted, judge_words, next_command, with_ends_beside

WIN_RATE = "win rate of a"
DECISIVE = "interval_95"  # there where other intervals have another level
EVEN = 0.5  # win rate of runs that are equally good
RULES = (
    "win rate: the part of the judged rows that a run wins; a tie is half a win.",
    f"wins: the 95 % interval of the win rate is on one side of {EVEN:g}; else it is not settled.",
    "place: said where the same place won in both orders in more than half of the rows that the judge was asked about.",
)


def duel_conclusion(summary: Json, config: Json, folders: Sequence[object]) -> Conclusion:
    """The sentences of a duel, and the next command.

    Args:
        summary: as in `duel_summary.json`.
        config: of the judge, as the manifest has it.
        folders: of both runs.
    """
    sentences = [_winner(summary, config), *_place(summary["position_bias"])]
    return Conclusion(sentences, next_command(("compare", *folders)), RULES)


def _winner(summary: Json, config: Json) -> str:
    rate = summary["measures"][WIN_RATE]
    names = [summary["a"], summary["b"]]
    if names[0] == names[1]:
        names = [f"{name} ({side})" for name, side in zip(names, "ab", strict=True)]
    rows = counted(rate["scored"], "row")
    if not rate["scored"]:
        why = next(iter(rate["reasons"]), "no row has an answer of both runs")
        return f"Nothing could be judged: {why}."
    if summary["same"] == rate["scored"]:
        return f"No difference: in {rows} both runs have the same answer, and the judge was not asked."
    mean = rate["mean"]
    low = rate["ci_low"]
    high = rate["ci_high"]
    decisive = rate.get(DECISIVE, (low, high))
    if decisive[1] < EVEN:
        names, mean, low, high = names[::-1], 1 - mean, 1 - high, 1 - low
    share = with_ends_beside([EVEN], mean, low, high)
    words = f"{share} of {rows} against {names[1]}, ties count half{judge_words(config)}."
    if not decisive[0] <= EVEN <= decisive[1]:
        return f"{names[0]} wins: {words}"
    return f"Not settled which run answers better: {names[0]} wins {words}"


def _place(bias: Json) -> Iterator[str]:
    """That the judge chose by place, if it did so in most rows."""
    shares = {"first": bias["first_won_twice"] or 0.0, "second": bias["second_won_twice"] or 0.0}
    if sum(shares.values()) <= 0.5:
        return
    place = max(shares, key=lambda name: shares[name])
    yield (
        f"In {100 * sum(shares.values()):.0f} % of {counted(bias['pairs'], 'row')} the judge chose the same place in "
        f"both orders, mostly the {place}: the place counted more than the answers."
    )
