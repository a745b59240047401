"""`Conclusion`: the sentences that answer what a reader came for, the next command, and the words they share."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rag_evaluator.config import BY_WORDS, DEMO, all_features, find_language, model_of
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.resources import command

from .manifest import config_of, judge_of
from .overview import printable

if TYPE_CHECKING:
    from rag_evaluator.statistics import Estimate

MOST_DIGITS = 6
NEXT = "Next: "  # before the command to type next
TOY = "the toy judge"
TOY_LANGUAGES = ("english", "spanish")  # that it was trained on; its model card says what it gets right in them
CORE = ("evaluate", "report", "compare", "gate", "sort", "generate", "status", "merge", "submit")


@dataclass(frozen=True)
class Conclusion:
    """What a reader came for. It is printed before every table, and says no more than its rules.

    Attributes:
        sentences: the first answers the question, with its number.
        next: the command to type next; empty: there is none.
        rules: what decides about the words of the sentences.
    """

    sentences: Sequence[str]
    next: str = ""
    rules: Sequence[str] = ()

    def lines(self) -> Iterator[str]:
        """The sentences, then the next command; a reason in them may hold what a terminal would obey."""
        yield from map(printable, self.sentences)
        if self.next:
            yield f"{NEXT}{self.next}"

    def to_json(self) -> JsonDict:
        return asdict(self)


def next_command(*choices: Sequence[object]) -> str:
    """The first of these commands that is there, as it is typed: a feature may have been deleted.

    Args:
        choices: the words of a command, its name first; none where a feature has them and is not there.
    """
    there = {name for feature in all_features().values() for name in feature.commands}
    for name, *words in filter(None, choices):
        if name in there or name in CORE:
            return command(*str(name).split(), *words)
    return ""


def is_judged(manifest: Json, metric: str, by: Sequence[str] = ("judge", "verifier")) -> bool:
    """Whether a model judged, by the signature: a language model, or a verifier, which may read what one wrote."""
    signature = (manifest.get("signatures") or {}).get(metric, "")
    return any(f"|{kind}:" in signature for kind in by)


def judged_config(manifest: Json) -> Json:
    """The configuration with the judge that judged: one given in Python is not the one that it names."""
    config = config_of(manifest)
    model = judge_of(manifest)
    return {**config, "judge": {"model": model}} if isinstance(model, str) else config


def judge_model(config: Json) -> str:
    """The model of the judge, as a configuration names it."""
    return model_of(config.get("judge") or {})


def unknown_to_toy(model: str, language: str | None) -> str:
    """The language, `Japanese`, if the model is the demo judge, which was not trained on it; else empty."""
    name = find_language(language or TOY_LANGUAGES[0]).name
    return "" if model != DEMO or name in TOY_LANGUAGES else name.replace("_", " ").title()


def toy_sentence(model: str, language: str | None) -> str:
    """What a user should know of the demo judge; empty for another model."""
    unknown = unknown_to_toy(model, language)
    limit = f" that was trained on English and Spanish, not on {unknown}" if unknown else ""
    return f"The demo judge is a toy{limit}: set judge.model to a model of your own." if model == DEMO else ""


def judge_words(*configs: Json) -> str:
    """`, according to this judge`.

    Args:
        configs: of the run, as its manifest has it; of two runs with different judges both.
    """
    models = list(map(judge_model, configs))
    if DEMO in models:
        unknown = unknown_to_toy(DEMO, configs[-1].get("language"))
        others = "" if set(models) == {DEMO} else " and others"
        return f", according to {TOY}{others}{unknown and f', which does not know {unknown}'}"
    return ", according to this judge" if len(models) == 1 else ", according to these judges"


def judged_by(manifests: Sequence[Json], metrics: Iterable[str], useful: Collection[str]) -> str:
    """Who judged these metrics: `, according to this judge`, with their names if it is not all; empty where none did.

    Args:
        manifests: of the run; of two runs that were judged differently both.
        useful: metrics of which the judge is known to be useful: nothing is said of them.
    """
    names = list(dict.fromkeys(metrics))
    judged = [name for name in names if name not in useful and any(is_judged(each, name) for each in manifests)]
    by_judge, by_verifier = (
        any(is_judged(each, name, [kind]) for each in manifests for name in judged) for kind in ("judge", "verifier")
    )
    words = judge_words(*map(judged_config, manifests)) if by_judge else ""
    if by_verifier:
        models = {(config_of(each).get("verifier") or {}).get("model") for each in manifests}
        name = "a count of words" if models == {BY_WORDS} else "this verifier"
        words = f"{words} and {name}" if words else f", according to {name}"
    return f"{words} ({listed(judged)})" if 0 < len(judged) < len(names) else words


def the_judge(config: Json) -> str:
    """The judge as the subject of a sentence: `The judge`, `The toy judge`.

    Args:
        config: of the run, as its manifest has it.
    """
    return "The toy judge" if judge_model(config) == DEMO else "The judge"


def listed(words: Iterable[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and c`; of more than `most` the first, and how many there are beside them."""
    names = list(words)
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def why_of(reasons: Mapping[str, int]) -> str:
    """Why something is missing: `the judge gave no answer`; of several reasons the commonest, with its count.

    Args:
        reasons: at least one, and how often it is the reason.
    """
    reason = max(reasons, key=lambda text: reasons[text])
    return reason if len(reasons) == 1 else f"most often, {reasons[reason]:,} of {sum(reasons.values()):,}, {reason}"


def figure(value: float, digits: int = 2) -> str:
    """A number; one that is not 0 has so many digits that it does not look like 0, up to `MOST_DIGITS`."""
    while value and not float(f"{value:.{digits}f}") and digits < MOST_DIGITS:
        digits += 1
    return f"{value:z.{digits}f}"


def with_ends(mean: float, low: float | None, high: float | None, digits: int = 2) -> str:
    """`0.42 [0.17, 0.71]`; an end looks like 0 only if it is 0, so that a reader sees whether 0 is inside."""
    if low is None or high is None:
        return figure(mean, digits)
    return f"{figure(mean, digits)} [{figure(low, digits)}, {figure(high, digits)}]"


def with_interval(estimate: "Estimate", digits: int = 2) -> str:
    """Return an estimate that has a mean as `with_ends` does."""
    assert estimate.mean is not None
    return with_ends(estimate.mean, estimate.ci_low, estimate.ci_high, digits)


def with_own_ends(figures: Json) -> str:
    """Return a `value` with its `ci_low` and `ci_high`, as JSON has them, as `with_ends` does."""
    return with_ends(figures["value"], figures["ci_low"], figures["ci_high"])


def more_labels(count: int | None) -> str:
    """`about 400 more labels`; None: nobody knows."""
    return "how many more labels it takes cannot be told" if count is None else f"{about(count)} more labels"


def whole_ranges(methods: Iterable[str]) -> Iterator[str]:
    """Yield why nothing is known of other rows, where an interval is the whole range; `methods`: of the intervals."""
    for why in sorted({method.partition("range: ")[2] for method in methods} - {""}):
        yield f"Nothing is known about other rows: the interval is the whole range ({why})."


def with_ends_beside(limits: Sequence[float], mean: float, low: float, high: float, digits: int = 2) -> str:
    """`0.62 [0.51, 0.72]` with so many digits that each number is on its side of each limit, up to `MOST_DIGITS`."""

    def is_clear(number: float, limit: float) -> bool:
        shown = float(f"{number:.{digits}f}")
        return (shown > limit, shown < limit) == (number > limit, number < limit)

    while digits < MOST_DIGITS and not all(is_clear(x, limit) for x in (mean, low, high) for limit in limits):
        digits += 1
    return f"{mean:z.{digits}f} [{low:z.{digits}f}, {high:z.{digits}f}]"


def about(count: float) -> str:
    """A number that is known roughly, rounded up to two digits: `about 400`."""
    step = 10 ** max(0, math.floor(math.log10(max(count, 1))) - 1)
    return f"about {math.ceil(round(count / step, 9)) * step:,}"
