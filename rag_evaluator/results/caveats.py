"""What must be known before two runs are compared: other judges, other references; one sentence each."""

from collections.abc import Mapping, Sequence

from rag_evaluator.dataset.keys import as_key, value_of
from rag_evaluator.results.conditions import differing_conditions, has_unnamed_model
from rag_evaluator.results.manifest import partial_rows
from rag_evaluator.results.matching import QUESTION, Matched
from rag_evaluator.results.saved import SavedScores

EXPECTED = ("reference", "reference_contexts")
LETTERS, PARTS = 60, 3  # of a value, and parts of a condition, shown at most


def caveats(
    a: SavedScores, b: SavedScores, matched: tuple[Matched, Matched], on: str, metrics: Sequence[str]
) -> list[str]:
    """What makes scores of the two runs differ beside the systems."""
    keys = matched[0].places.keys() & matched[1].places.keys()
    partial = [sentence for run in (a, b) if (sentence := partial_run(run)) is not None]
    return [*partial, *_of_judging(a, b, list(metrics)), *_of_rows(a, b, matched, on, sorted(keys))]


def partial_run(run: SavedScores) -> str | None:
    """That a run did not take all rows of its dataset; None: it did."""
    rows = partial_rows(run.manifest)
    return None if rows is None else f"{run.name} is partial: {rows}."


def _of_judging(a: SavedScores, b: SavedScores, metrics: list[str]) -> list[str]:
    silent = [run.name for run in (a, b) if not run.manifest.get("signatures")]
    if silent:
        verb, was = ("does", "it was") if len(silent) == 1 else ("do", "they were")
        return [
            f"{' and '.join(silent)} {verb} not say how {was} judged: if judge, prompts, language or versions differ, "
            "judges are compared, not systems."
        ]
    differing = differing_conditions(a.manifest, b.manifest, metrics)
    if differing:
        listed = "; ".join(f"{condition}: {_shown(parts)}" for condition, parts in differing.items())
        return [f"{a.name} and {b.name} were judged differently ({listed}), so judges are compared, not systems."]
    if has_unnamed_model(a.manifest, metrics):
        return [f"The models that judged {a.name} and {b.name} have no names: that they are the same is not known."]
    return []


def _shown(parts: Mapping[str, tuple[str, str]]) -> str:
    shown = [f"{part} {_cut(values[0])} / {_cut(values[1])}" for part, values in list(parts.items())[:PARTS]]
    return ", ".join(shown) + (" and more" if len(parts) > PARTS else "")


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _of_rows(
    a: SavedScores, b: SavedScores, matched: tuple[Matched, Matched], on: str, keys: Sequence[str]
) -> list[str]:
    def texts(columns: Sequence[str], key: str) -> list[set[str | None]]:
        """What each side has in these columns in the rows of a key."""
        return [
            {as_key([value_of(run.samples[place], column) for column in columns]) for place in side.places[key]}
            for run, side in zip((a, b), matched, strict=True)
        ]

    def others(columns: Sequence[str]) -> int:
        return sum(there[0] != there[1] for there in (texts(columns, key) for key in keys))

    found = []
    if on != QUESTION and (count := others([QUESTION])):
        found.append(f"{count} of {len(keys)} rows that were matched by '{on}' have other questions in {b.name}.")
    if count := others(EXPECTED):
        found.append(
            f"{count} of {len(keys)} questions have another reference or other expected contexts in {b.name} than in "
            f"{a.name}, so these scores do not measure the same."
        )
    return found
