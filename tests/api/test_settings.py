"""Settings of the three functions: an argument wins over the configuration, the configuration over the default."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aliases import Json
from test_functions import first_is_better

from rag_evaluator import ConfigError, DatasetError, ScriptedJudge, evaluate, generate, sort
from rag_evaluator.config import GenerateConfig, SortConfig

pytestmark = pytest.mark.usefixtures("own_folder")

QUESTIONS = ["Where?", "Who?"]
CONTEXTS = [["c", "a", "d", "b"], ["b", "a"]]
FIVE = [[f"context {number}" for number in range(5)]]


def scripted() -> ScriptedJudge:
    answers = {
        "ReferenceOutput": {"answerable": 1, "answer": "a"},
        "ContextPrecisionOutput": {"reason": "r", "verdict": 1},
        "ContextRelevanceOutput": {"rating": 2},
    }
    return ScriptedJudge(answers, first_is_better)


SECTION = {"strategy": "merge", "k": 2, "top": False, "fast": False, "both_orders": False}


def as_file() -> str:
    text = f"metrics: [exact_match]\nsort: {SECTION}\n".replace("False", "false").replace("'", "")
    Path("own.yaml").write_text(text, "utf-8")
    return "own.yaml"


@pytest.mark.parametrize("config", [lambda: {"sort": SECTION}, as_file])
def test_sort_takes_its_section_of_the_configuration(config: Callable[[], Any]) -> None:
    row = sort(QUESTIONS, CONTEXTS, judge=scripted(), config=config())[0]
    assert (row["strategy"], row["k"], row["good"], row["agreement"]) == ("merge", 2, None, None)
    assert row["sorted"] == [1, 3, 0, 2]
    assert row["overlap"] == [2]  # of the last two: 0, 2 in the judge's order, 2, 3 in the retriever's


ARGUMENTS: list[tuple[Json, tuple[str, int]]] = [
    ({"k": 3}, ("merge", 3)),
    ({"k": 4, "strategy": "insertion"}, ("insertion", 4)),
    ({"k": None, "strategy": None}, ("merge", 2)),
]


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS)
def test_an_argument_of_sort_wins_over_the_configuration(arguments: Json, expected: tuple[str, int]) -> None:
    row = sort(QUESTIONS, CONTEXTS, judge=scripted(), config={"sort": SECTION}, **arguments)[0]
    assert (row["strategy"], row["k"]) == expected


GENERATE: list[tuple[Json, Json, int, bool]] = [  # section, arguments, groups, support asked
    ({}, {}, 1, True),
    ({"fast": False}, {}, 5, True),
    ({"group_size": 2}, {}, 3, True),
    ({"support": False, "group_size": 3}, {}, 2, False),
    ({"fast": False}, {"fast": True}, 1, True),
    ({"support": False}, {"support": True}, 1, True),
]


@pytest.mark.parametrize(("section", "arguments", "groups", "support"), GENERATE)
def test_generate_takes_its_section_of_the_configuration(
    section: Json, arguments: Json, groups: int, support: bool
) -> None:
    judge = scripted()
    generate(QUESTIONS[:1], FIVE, judge=judge, config={"generate": section}, **arguments)
    inputs = [type(prompt.data).__name__ for prompt in judge.prompts]  # type: ignore[attr-defined]
    assert inputs.count("AnswerInput") == groups
    assert ("SupportInput" in inputs) == support


def test_the_seed_of_the_configuration_shuffles_as_the_argument_does() -> None:
    def shown(**settings: Any) -> list[str]:
        judge = scripted()
        generate(QUESTIONS[:1], FIVE, judge=judge, **settings)
        return [str(prompt) for prompt in judge.prompts]

    assert shown(config={"generate": {"seed": 7}}) == shown(seed=7) != shown()


METRICS: list[tuple[Any, Json, list[str]]] = [
    (lambda: {"metrics": ["exact_match", "context_precision"]}, {}, ["exact_match", "context_precision"]),
    (lambda: {"metrics": ["exact_match"]}, {"metrics": ["bleu"]}, ["bleu"]),
    (lambda: {"metrics": ["exact_match"]}, {"metrics": "bleu"}, ["bleu"]),
    (as_file, {}, ["exact_match"]),
]


@pytest.mark.parametrize(("config", "arguments", "expected"), METRICS)
def test_metrics_of_the_configuration_count_where_no_argument_is_given(
    config: Callable[[], Any], arguments: Json, expected: list[str]
) -> None:
    scores = evaluate(QUESTIONS, CONTEXTS, ["a", "b"], ["a", "c"], judge=scripted(), config=config(), **arguments)
    assert list(scores) == expected


WRONG: list[tuple[Any, Json, list[str]]] = [
    (sort, {"k": 0}, ["k is 0", "greater than or equal to 1"]),
    (sort, {"strategy": "merges"}, ["strategy is 'merges'", "'insertion' or 'merge'"]),
    (
        sort,
        {"config": {"sort": {"strategy": "merges"}}},
        ["'sort.strategy' is 'merges'", "'insertion' or 'merge'"],
    ),
    (generate, {"config": {"generate": {"group_size": 1}}}, ["'generate.group_size' is 1"]),
    (evaluate, {"metrics": ["faithfullness"]}, ["metrics[0] is 'faithfullness'", "Did you mean 'faithfulness'?"]),
    (evaluate, {"config": {"metrics": ["faithfullness"]}}, ["config: metrics[0] is 'faithfullness'"]),
]


@pytest.mark.parametrize(("function", "arguments", "parts"), WRONG)
def test_a_wrong_setting_is_named_where_it_was_given(function: Any, arguments: Json, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        function(QUESTIONS, CONTEXTS, judge=scripted(), **arguments)
    assert all(part in str(caught.value) for part in parts), caught.value
    assert ("config" in str(caught.value)) == ("config" in arguments)
    assert list(Path().iterdir()) == []


def test_options_are_declared_once() -> None:
    for function, section in ((sort, SortConfig), (generate, GenerateConfig)):
        parameters = inspect.signature(function).parameters
        declared = set(section.model_fields) & set(parameters)
        assert {parameters[name].default for name in declared} == {None}
    assert list(inspect.signature(sort).parameters)[:5] == ["question_list", "contexts_list", "k", "top", "fast"]
    assert list(inspect.signature(generate).parameters)[:3] == ["question_list", "contexts_list", "chat_model"]


# Lists of other libraries

ANSWERS = ["a", None]
REFERENCES = ["a", "b"]


def series(values: list[Any]) -> Any:
    return pd.Series(values, index=[7 - place for place in range(len(values))])  # positions are no labels


def numpy_array(values: list[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = [np.array(value, dtype=object) if isinstance(value, list) else value for value in values]
    return made


@pytest.mark.parametrize("kind", [tuple, series, numpy_array])
def test_lists_of_every_library_are_lists(kind: Callable[[list[Any]], Any]) -> None:
    given = [kind(values) for values in (QUESTIONS, CONTEXTS, ANSWERS, REFERENCES)]
    scores = evaluate(*given, metrics=["exact_match", "context_precision"], judge=scripted())
    scored, missing = scores.results.scores["exact_match"]
    assert scored.value == 1.0
    assert "response" in (missing.reason or "")
    assert scores.results.rows()[0]["contexts"] == CONTEXTS[0]
    assert sort(*given[:2], judge=scripted())[0]["sorted"] == [1, 3, 0, 2]
    assert generate(*given[:2], judge=scripted()) == ["a", "a"]


@pytest.mark.parametrize("missing", [None, [], [None, None], pd.Series([np.nan, np.nan]), np.array([])])
def test_no_answers_at_all_are_no_answers(missing: Any) -> None:
    if missing is not None and len(missing) == 0:
        with pytest.raises(DatasetError, match="expected at least one row"):
            evaluate(QUESTIONS, CONTEXTS, missing, REFERENCES, judge=scripted())
        return
    names = ["exact_match", "context_precision"]
    scores = evaluate(QUESTIONS, CONTEXTS, missing, REFERENCES, metrics=names, judge=scripted())
    assert scores.skipped == {"exact_match": "needs answer_list"}
    assert list(scores) == ["context_precision"]


@pytest.mark.parametrize(
    ("questions", "contexts", "message"),
    [
        (["a", "b"], [["c"]], "'question_list': 2, 'contexts_list': 1"),
        ("a", [["c"]], "question_list: expected a list, received str"),
        (pd.DataFrame({"Where?": ["x"]}), [["c"]], "question_list: expected a list, received DataFrame"),
        (["a"], ["c"], "row 0: column 'contexts_list' .*expected a list of strings, received 'c'"),
        (pd.Series(["a", np.nan]), [["c"], ["d"]], "row 1: column 'question_list' has no value"),
        (["a", "b"], [["c"], None], "row 1: column 'contexts_list' has no value"),
        (np.array([["a"]]), [["c"]], r"row 0: column 'question_list' .* \['a'\]"),
        ([], [], "expected at least one row"),
    ],
)
@pytest.mark.parametrize("function", [sort, generate, evaluate])
def test_what_is_no_list_of_texts_is_refused_before_a_model_is_loaded(
    function: Any, questions: Any, contexts: Any, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        function(questions, contexts, judge="no such model")
    assert list(Path().iterdir()) == []
