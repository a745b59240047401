import asyncio
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from aliases import ModelFolder

from rag_evaluator import Judge, PromptTooLongError, ScriptedJudge, sort
from rag_evaluator.config import JudgeConfig, SortConfig, default_config
from rag_evaluator.dataset import TaskColumns, checked_rows
from rag_evaluator.files import silent
from rag_evaluator.judge import PromptText, Window
from rag_evaluator.prompts import CompareOutput, FilterOutput
from rag_evaluator.tasks import Sort, asked_by_lists, run_and_keep

pytestmark = pytest.mark.usefixtures("own_folder")

SORTED = [0, 26, 14, 23, 13, 5, 9, 22, 11, 1, 3, 21, 25, 16, 19]
SORTED_OF_200 = [
    *(55, 178, 0, 59, 169, 11, 9, 1, 5, 13, 56, 28, 53, 95, 3, 186, 21, 22, 20, 57, 25, 26, 38, 70, 98, 106, 165, 182),
    *(54, 99, 111, 129, 140, 141, 144, 192, 87, 51, 168, 17, 19, 30, 33, 31, 32, 36, 34, 35, 39, 40, 67, 47, 41, 49),
    *(78, 121, 122, 127, 132, 42, 45, 61, 62, 80, 69, 85, 153, 128, 135, 180, 137, 152, 154, 172, 187, 195, 198, 160),
]
CALLS_OF_200 = range(1153, 1346)  # comparisons of binary insertion, the fewest and the most
STRATEGIES = get_args(SortConfig.model_fields["strategy"].annotation)


# The judge of these tests knows how good a context is: it is written in it. Bad ones have 0.


def quality(context: str) -> float:
    return float(context.rsplit(" ", 1)[-1])


def contexts_of(qualities: Sequence[float]) -> list[str]:
    return [f"Context {position} says {quality}" for position, quality in enumerate(qualities)]


def scripted(first: Callable[[float, float], float], **arguments: Any) -> ScriptedJudge:
    """A judge that gives the first context shown `first(its quality, the other's)`."""

    def choices(prompt: str, options: Sequence[str]) -> Mapping[str, float] | str:
        assert isinstance(prompt, PromptText)
        shown: Any = prompt.data
        if prompt.name == "filter_prompt":
            return FilterOutput(verdict=int(quality(shown.context) > 0)).model_dump_json(indent=4)
        share = first(quality(shown.context_1), quality(shown.context_2))
        one, other = (CompareOutput(choice=number).model_dump_json(indent=4) for number in (1, 2))
        return {one: share, other: 1 - share}

    return ScriptedJudge(choices=choices, **arguments)


def honest(one: float, other: float) -> float:
    return 0.9 if one > other else 0.1


def sort_all(
    judge: Any, contexts_list: Sequence[Sequence[str]], questions: Sequence[str] = (), **options: Any
) -> list[Mapping[str, Any]]:
    asked = questions or [f"Question {position}?" for position in range(len(contexts_list))]
    return sort(asked, contexts_list, judge=judge, fresh=True, progress=silent, **options)


def sort_one(judge: Any, contexts: Sequence[str], **options: Any) -> Mapping[str, Any]:
    return sort_all(judge, [contexts], **options)[0]


def places_of(count: int, seed: int) -> list[int]:
    return random.Random(seed).sample(range(count), count)


def contexts_at(places: Sequence[int]) -> list[str]:
    """Contexts whose true places are these."""
    return contexts_of([-place for place in places])


def true_order(places: Sequence[int]) -> list[int]:
    return sorted(range(len(places)), key=lambda item: places[item])


class InRounds(ScriptedJudge):
    """An honest judge who answers when everybody waits, and counts how often that is."""

    def __init__(self) -> None:
        super().__init__(choices=scripted(honest).choices)
        self.rounds = 0
        self.waiting: list[asyncio.Future[None]] = []

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        if len(self.waiting) == 1:
            self.answering = asyncio.ensure_future(self._answer())
        await turn
        return self.choose(prompt, options)

    async def _answer(self) -> None:
        for _ in range(60):
            await asyncio.sleep(0)
        self.rounds += 1
        turns = [*self.waiting]
        self.waiting.clear()
        for turn in turns:
            turn.set_result(None)


def run_strategy(name: str, places: Sequence[int]) -> tuple[list[int], int, int]:
    """Order, comparisons and rounds for contexts of these true places."""
    judge = InRounds()
    found = sort_one(judge, contexts_at(places), strategy=name, fast=False, both_orders=False)
    return found["sorted"], found["comparisons"], judge.rounds


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_finds_the_true_order(name: str) -> None:
    every = [places_of(count, seed) for count in (0, 1, 2, 3, 7, 30, 61) for seed in range(2)]
    found = sort_all(scripted(honest), list(map(contexts_at, every)), strategy=name, fast=False, both_orders=False)
    assert [ranking["sorted"] for ranking in found] == list(map(true_order, every))


def insertion_calls(places: Sequence[int]) -> int:
    """Comparisons of binary insertion, counted by another writing of it: a search in the places already taken."""
    calls = 0
    taken = list[int]()
    for place in places:
        low = 0
        high = len(taken)
        while low < high:
            middle = (low + high - 1) // 2
            calls += 1
            low, high = (low, middle) if place < taken[middle] else (middle + 1, high)
        taken.insert(low, place)
    return calls


@pytest.mark.parametrize("count", [10, 30, 200])
def test_insertion_takes_exactly_the_comparisons_of_binary_insertion(count: int) -> None:
    for seed in range(1 if count == 200 else 3):
        places = places_of(count, seed)
        order, calls, rounds = run_strategy("insertion", places)
        assert order == true_order(places)
        assert calls == rounds == insertion_calls(places)
        assert count < 200 or calls in CALLS_OF_200


def test_merge_takes_hardly_more_comparisons_in_a_tenth_of_the_rounds() -> None:
    places = places_of(200, 0)
    order, calls, rounds = run_strategy("merge", places)
    assert order == true_order(places)
    assert calls < 1.1 * max(CALLS_OF_200)
    assert rounds <= 115


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_judge_who_contradicts_himself_still_gets_every_item_once(name: str) -> None:
    shares = random.Random(0)
    judge = scripted(lambda one, other: shares.choice([0.0, 0.3, 0.5, 0.9]))
    every = [contexts_at(range(count)) for count in range(13)]
    for ranking in sort_all(judge, every, strategy=name, fast=False, both_orders=False):
        assert sorted(ranking["sorted"]) == list(range(len(ranking["contexts"])))


@pytest.mark.parametrize(
    ("order", "measures"),
    [
        (SORTED, (0.121, 0.7, [0, 14, 13, 5, 9, 11, 1])),
        (SORTED_OF_200, (0.443, 0.6, [0, 11, 9, 1, 5, 13])),
    ],
)
def test_the_measures_of_the_published_examples_come_out(order: list[int], measures: tuple[Any, ...]) -> None:
    ranks = {item: len(order) - rank for rank, item in enumerate(order)}
    contexts = contexts_of([ranks.get(item, 0) for item in range(max(order) + 1)])
    found = sort_one(scripted(honest), contexts, both_orders=False)
    assert found["sorted"] == order
    assert (found["spearman"], found["sim"], found["overlap"]) == measures


def test_the_tail_is_compared_where_top_is_false() -> None:
    found = sort_one(scripted(honest), contexts_of([0.7, 0.6, 0.5, 0.8]), k=2, top=False)
    assert found["sorted"] == [3, 0, 1, 2]
    assert (found["sim"], found["overlap"]) == (0.5, [2])
    assert found["kendall"] == 0.0  # of six pairs three stand as before, three the other way round


@pytest.mark.parametrize(
    ("size", "fast", "asked", "k"), [(30, True, 10, 10), (12, True, 50, 10), (7, True, 50, 7), (12, False, 50, 12)]
)
def test_a_k_that_is_too_large_is_ten_or_all(size: int, fast: bool, asked: int, k: int) -> None:
    contexts = contexts_of([size - place for place in range(size)])
    assert sort_one(scripted(honest), contexts, k=asked, fast=fast)["k"] == k


NDCG = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))  # relevant at ranks 2 and 3


def test_the_retriever_s_order_is_measured_by_what_the_judge_finds_good() -> None:
    found = sort_one(scripted(honest), contexts_of([0, 0.5, 0.9]), k=2)
    assert found["retriever"] == {"nDCG@2": round(1 / math.log2(3) / (1 + 1 / math.log2(3)), 4), "P@2": 0.5, "RR": 0.5}
    assert sort_one(scripted(honest), contexts_of([0, 0.5, 0.9]))["retriever"]["nDCG@10"] == round(NDCG, 4)


QUALITIES = [0.3, 0, 0.7, 0.1, 0, 0.9, 0.2, 0.5, 0, 0.8]
BEST_FIRST = [5, 9, 2, 7, 0, 6, 3]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("both_orders", [True, False])
def test_the_good_contexts_are_sorted_and_the_others_left_out(strategy: str, both_orders: bool) -> None:
    found = sort_one(scripted(honest), contexts_of(QUALITIES), strategy=strategy, both_orders=both_orders)
    assert found["good"] == [0, 2, 3, 5, 6, 7, 9]
    assert found["bad"] == [1, 4, 8]
    assert found["sorted"] == BEST_FIRST
    assert found["agreement"] == (1.0 if both_orders else None)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_contexts_are_sorted_where_fast_is_false(strategy: str) -> None:
    found = sort_one(scripted(honest), contexts_of([0.1, 0.5, 0, 0.9]), strategy=strategy, fast=False)
    assert (found["good"], found["bad"], found["verdicts"]) == (None, None, None)
    assert found["sorted"] == [3, 1, 0, 2]
    assert found["retriever"] == {"nDCG@10": None, "P@10": None, "RR": None}
    assert "fast: false" in found["reasons"]["RR"]


def test_a_row_without_a_question_has_no_order() -> None:
    assert sort_all(scripted(honest), [["a", "b"]], [" "])[0]["reasons"]["sorted"] == "there is no question"


def always_first(one: float, other: float) -> float:
    """Prefers the context shown first whatever it holds, a little less when it is the worse one."""
    return 0.999999 if one > other else 0.99999


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_both_orders_cancel_a_judge_who_always_prefers_the_first_context_shown(strategy: str) -> None:
    contexts = contexts_of(QUALITIES)
    fair = sort_one(scripted(always_first), contexts, strategy=strategy)
    unfair = sort_one(scripted(always_first), contexts, strategy=strategy, both_orders=False)
    assert fair["sorted"] == BEST_FIRST
    assert fair["agreement"] == 0.0
    assert unfair["sorted"] != BEST_FIRST


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_judge_who_sees_only_the_place_leaves_the_retrievers_order_and_has_no_agreement(strategy: str) -> None:
    found = sort_one(scripted(lambda one, other: 0.8), contexts_of(QUALITIES), strategy=strategy)
    assert found["sorted"] == found["good"]
    assert found["agreement"] == 0.0
    assert found["ties"] == found["comparisons"]


def test_calls_are_one_for_each_context_and_two_for_each_pair() -> None:
    judge = scripted(honest)
    found = sort_one(judge, contexts_of(QUALITIES))
    assert found["comparisons"] == insertion_calls([-quality for quality in QUALITIES if quality])
    assert found["judge_calls"] == len(judge.prompts) == len(QUALITIES) + 2 * found["comparisons"]


def test_each_question_has_its_own_k() -> None:
    sizes = [3, 30, 1, 12, 0, 30]
    found = sort_all(scripted(honest), [contexts_of([1 / (n + 1) for n in range(size)]) for size in sizes])
    assert [ranking["k"] for ranking in found] == [3, 10, 1, 10, 0, 10]
    assert [ranking["sim"] for ranking in found] == [1.0, 1.0, 1.0, 1.0, None, 1.0]


def test_what_cannot_be_measured_is_null_with_its_reason_and_the_json_is_valid() -> None:
    one, none, empty = sort_all(scripted(honest), [contexts_of([0, 0.5]), contexts_of([0, 0]), []])
    assert (one["sorted"], one["spearman"]) == ([1], None)
    assert one["reasons"]["spearman"] == "one context has no order"
    assert (none["sorted"], none["sim"]) == ([], None)
    assert none["reasons"]["sim"] == "the judge finds the answer in no context"
    assert none["retriever"] == {"nDCG@10": None, "P@10": 0.0, "RR": 0.0}
    assert empty["reasons"]["kendall"] == "there is no context"
    for ranking in (one, none, empty):
        json.dumps(dict(ranking), allow_nan=False)


def test_an_empty_context_is_never_shown_and_comes_last() -> None:
    judge = scripted(honest)
    contexts = ["", *contexts_of([0.2, 0.4]), "  \n"]
    assert sort_one(judge, contexts)["bad"] == [0, 3]
    assert sort_one(judge, contexts, fast=False)["sorted"] == [2, 1, 0, 3]
    assert not any('""' in prompt.rsplit("input:", 1)[-1] for prompt in judge.prompts)


def test_equal_contexts_are_not_compared_and_stay_in_their_order() -> None:
    judge = scripted(honest)
    found = sort_one(judge, ["good 0.5"] * 4 + ["best 0.9"])
    assert found["sorted"] == [4, 0, 1, 2, 3]
    assert found["agreement"] == 1.0
    assert len(judge.prompts) == 2 + 2  # the two filters and the two orders of the one pair


def test_equal_questions_are_sorted_each_and_asked_once() -> None:
    judge = scripted(honest)
    first, second = sort_all(judge, [contexts_of(QUALITIES)] * 2, ["Same?", "Same?"])
    assert first == second
    assert len(judge.prompts) == first["judge_calls"]


def test_a_judge_that_fails_costs_one_question_its_order_and_no_other() -> None:
    def choices(prompt: str, options: Sequence[str]) -> str:
        return "nonsense" if "Question 0" in prompt else options[0]

    failed, fine = sort_all(ScriptedJudge(choices=choices), [["a", "b"]] * 2)
    assert failed["sorted"] is None
    assert "nonsense" in failed["reasons"]["sorted"]
    assert fine["sorted"] == [0, 1]


def test_a_judge_without_probabilities_is_asked_for_its_choice() -> None:
    class Plain(ScriptedJudge):
        achoose = property()  # type: ignore[assignment]  # as an LLM that has none

    def script(prompt: str, model: Any) -> Any:
        shown: Any = prompt.data  # type: ignore[attr-defined]
        if model is FilterOutput:
            return {"verdict": int(quality(shown.context) > 0)}
        return {"choice": 1 if quality(shown.context_1) > quality(shown.context_2) else 2}

    assert sort_one(Plain(script), contexts_of(QUALITIES))["sorted"] == BEST_FIRST


def test_given_relevance_measures_both_orders(tmp_path: Path) -> None:
    rows = [
        {"question": "Where?", "contexts": contexts_of([0.1, 0, 0.9]), "relevance": [0, 1, 2]},
        {"question": "Who?", "contexts": [], "relevance": None},
    ]
    _, asking = asked_by_lists("sort", ["Where?"], [["a"]], scripted(honest), None, None)
    columns = {"sort": TaskColumns(("user_input", "retrieved_contexts"))}
    stage = Sort(checked_rows(rows, default_config(metrics=["bleu"]), columns), SortConfig(), asking)
    table = run_and_keep(stage, tmp_path / "result", True, silent)
    [ranking, _] = stage.rankings(table)
    assert ranking["sorted"] == [2, 0]
    by_judge = (2 + 1 / math.log2(4)) / (2 + 1 / math.log2(3))  # the order 2, 0, 1
    by_retriever = (1 / math.log2(3) + 2 / math.log2(4)) / (2 + 1 / math.log2(3))
    assert ranking["measured"] == {
        "judge": {"nDCG@1": 1.0, "nDCG@5": round(by_judge, 4), "nDCG@10": round(by_judge, 4)},
        "retriever": {"nDCG@1": 0.0, "nDCG@5": round(by_retriever, 4), "nDCG@10": round(by_retriever, 4)},
    }
    stage.write(table, tmp_path)
    summary = json.loads((tmp_path / "sort_summary.json").read_bytes())
    assert summary["measures"]["judge nDCG@1 by relevance"]["mean"] == 1.0
    assert summary["measures"]["spearman"] == {
        "mean": -1.0,
        "scored": 1,
        "count": 2,
        "reasons": {"there is no context": 1},
    }


@pytest.fixture(scope="module")
def tiny(model_folder: ModelFolder) -> Judge:
    folder = model_folder("llama-bytelevel", max_position_embeddings=1600)
    return Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=64))


def test_pieces_are_short_enough_and_nothing_is_lost(tiny: Judge) -> None:
    window = Window(tiny)
    text = "Nolu Brak was born in Tesk. " * 60 + "他出生于一座小城市。" * 40 + "x" * 900
    pieces = window.pieces(text, 100)
    assert len(pieces) > 5
    assert max(map(window.tokens, pieces)) <= 100
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert window.pieces("short", 100) == ["short"]


def test_a_context_longer_than_the_window_is_judged_in_pieces_and_that_is_reported(tiny: Judge) -> None:
    contexts = ["A bridge is long.", "Nolu Brak was born in Tesk. " * 300, "Tesk lies on a river."]
    for fast in (True, False):
        found = sort_one(tiny, contexts, fast=fast)
        assert "sorted" not in found["reasons"]
        assert list(found["cut"]) == ["1"]
        assert found["cut"]["1"]["pieces"] > 3
        assert found["judge_calls"] >= (found["cut"]["1"]["pieces"] + 2 if fast else 4)


def test_a_question_that_fills_the_window_gets_the_reason(tiny: Judge) -> None:
    [ranking] = sort_all(tiny, [["In Tesk."]], ["Where was he born? " * 500])
    assert ranking["sorted"] is None
    assert "fills the model's window" in ranking["reasons"]["sorted"]
    with pytest.raises(PromptTooLongError):
        Window(tiny).room("word " * 2000)


def test_the_same_question_gets_the_same_order_alone_and_beside_others(tiny: Judge, model_folder: ModelFolder) -> None:
    contexts = [f"Fact {number} about the river Om in {1900 + number}." for number in range(6)]
    alone = sort_one(tiny, contexts, strategy="merge", fast=False)
    folder = model_folder("llama-bytelevel", max_position_embeddings=1600)
    again = Judge.from_config(JudgeConfig(model=str(folder), max_new_tokens=64))
    beside = sort_all(again, [contexts, contexts[::-1], contexts[:3]], strategy="merge", fast=False)[0]
    assert alone == beside
