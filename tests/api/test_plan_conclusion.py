"""The sentences of a plan: figures made by hand, and what a reader can rely on."""

import pytest

from rag_evaluator.features.setup.plan import NOTHING, Expected, PlannedJudge, PlannedMetric, PlannedRun
from rag_evaluator.features.setup.plan_conclusion import plan_conclusion, spoken


def planned(
    left: Expected | None,
    seconds: float | None,
    within: float | None = None,
    needed: int | None = 350,
    judged: int = 20,
    done: int = 20,
    workers: int = 1,
) -> PlannedRun:
    """A plan for 60 rows and one metric; loading takes 600 s."""
    metric = PlannedMetric("faithfulness", 60, done, left, left, 0.5, needed)
    judge = PlannedJudge([metric], left, left, judged, 600.0, seconds, None, None, seconds_within=within)
    return PlannedRun("run", "all 60 rows", 60, workers, 0.95, 0.05, [judge])


CALLS = Expected(1170, within=Expected(140))  # 140 of 1170 are 11.97 %
NEEDED = "For an interval of ±0.05 about 350 rows are needed in faithfulness."
CASES: dict[str, tuple[PlannedRun, list[str], str]] = {
    "a run": (  # 600 s and 7,200 s, 1,200 s more or less
        planned(CALLS, 7200.0, 1200.0),
        [
            "About 1,200 (±12 %) questions to the judge and 2 h 10 min [1 h 50 min, 2 h 30 min] with 1 worker on this "
            "machine, for 60 rows (20 of 60 scores are made), estimated from 20 of them.",
            NEEDED,
        ],
        "rag-evaluator evaluate c.yaml",
    ),
    "by four workers": (  # 600 s and 1,800 s, 300 s more or less
        planned(CALLS, 7200.0, 1200.0, workers=4),
        [
            "About 1,200 (±12 %) questions to the judge and 40 min [35 min, 45 min] with 4 workers on machines like "
            "this one, for 60 rows (20 of 60 scores are made), estimated from 20 of them.",
            NEEDED,
        ],
        "rag-evaluator submit c.yaml --workers 4",
    ),
    "one row was judged: nobody knows how rows vary": (
        planned(Expected(1170), 7200.0, None, None, 1, 1),
        [
            "About 1,200 questions to the judge and 2 h 10 min with 1 worker on this machine, for 60 rows (1 of 60 "
            "scores is made), estimated from 1 of them."
        ],
        "rag-evaluator evaluate c.yaml",
    ),
    "no row was judged": (
        planned(None, None, None, 384, 0, 0),
        [
            "Not known how many questions to the judge and how long: none of 60 rows was judged.",
            "At most 384 rows are needed for an interval of ±0.05 in faithfulness.",
        ],
        "rag-evaluator plan c.yaml --sample 20",
    ),
    "the time is not known": (
        planned(CALLS, None),
        [
            "About 1,200 (±12 %) questions to the judge, for 60 rows (20 of 60 scores are made), estimated from 20 of "
            "them; the time is not known.",
            NEEDED,
        ],
        "rag-evaluator evaluate c.yaml",
    ),
    "no metric asks the judge": (
        planned(NOTHING, 3.2, needed=40, done=0),
        [
            "No question to the judge and 11 min with 1 worker on this machine, for 60 rows, estimated from 20 of "
            "them.",
            "60 rows are enough for an interval of ±0.05, as far as 20 rows show.",
        ],
        "rag-evaluator evaluate c.yaml",
    ),
    "nothing is left": (
        planned(NOTHING, 0.0, 0.0, 60, 20, 60, workers=4),
        [
            "Nothing is left to be scored for 60 rows (60 of 60 scores are made).",
            "60 rows are enough for an interval of ±0.05, as far as 20 rows show.",
        ],
        "rag-evaluator evaluate c.yaml",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentences_say_what_is_left_and_what_that_rests_on(case: str) -> None:
    run, sentences, following = CASES[case]
    conclusion = plan_conclusion(run, ["c.yaml"])
    assert (conclusion.sentences, conclusion.next) == (sentences, following)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, "1 s"),
        (100, "100 s"),
        (101, "2 min"),
        (3541, "60 min"),
        (3601, "1 h 1 min"),
        (7200, "2 h"),
        (86_400, "24 h"),
        (86_401, "1 d 1 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_a_time_has_at_most_two_units_and_is_rounded_up(seconds: float, expected: str) -> None:
    assert spoken(seconds) == expected
