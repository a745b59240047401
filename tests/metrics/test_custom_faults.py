"""What may be wrong in `custom_metrics`: each case is a row, and is reported with its line before a model is loaded."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.config import prompt_owners

ROWS = [{"user_input": "Q?", "response": "A.", "retrieved_contexts": ["c"], "channel": "mail", "mood": 3}]
GOOD = {
    "question": "Is the response polite?",
    "columns": "[user_input, response]",
    "scale": "{0: rude, 1: neutral, 2: polite}",
}
EXAMPLE = "user_input: a, response: b, reason: r, label"


def written(name: str, keys: dict[str, str]) -> str:
    """The file of a run with one metric of its own; keys begin in line 4."""
    lines = [f"    {key}: {value}" for key, value in keys.items()]
    return "\n".join([f"metrics: [{name}]", "custom_metrics:", f"  {name}:", *lines]) + "\n"


def message_of(text: str, tmp_path: Path, *overrides: str) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        RAGEvaluator.from_config(path, overrides).check(ROWS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "line", "message"),
    [
        ({"question": "' '"}, 4, "question' is ' '"),
        ({"question": "no"}, 4, "Put it in quotes: "),
        ({"question": None}, 3, "question' is missing. Add it"),
        ({"qestion": "x"}, 7, "Did you mean 'custom_metrics.tone.question'?"),
        ({"columns": "[]"}, 5, "columns' is []"),
        ({"columns": "[response, answer]"}, 5, "columns[1]' is 'answer', which is response and is there already."),
        ({"columns": "[respnse]"}, 5, "columns[0]' is 'respnse', which no row has. Did you mean 'response'?"),
        ({"columns": "[respnse:optional]"}, 5, "columns[0]' is 'respnse': only ragas' columns can be optional."),
        ({"columns": "[tone]"}, 5, "columns[0]' is the name of the metric itself."),
        ({"scale": "{0: rude}"}, 6, "scale' is {0: 'rude'}: expected 2 to 101 labels"),
        ({"scale": "{0: rude, '0': polite}"}, 6, "label 0, 'polite', is there twice"),
        ({"scale": "{0: rude, 0: polite}"}, 6, "key '0' occurs twice."),
        ({"scale": "[rude, rude]"}, 6, "label 1, 'rude', is there twice"),
        ({"scale": "{0: no, 1: yes}"}, 6, "YAML reads no and yes as false and true"),
        ({"scale": "{low: rude, high: polite}"}, 6, "label 'low' is no whole number"),
        ({"scale": "{true: rude, 2: polite}"}, 6, "label True is no whole number"),
        ({"scale": "{0: rude, 1: 2}"}, 6, "expected a text for label 1"),
        ({"scale": "[pass, fail]"}, 6, "a list goes from the worst label to the best"),
        ({"scale": "fail or pass"}, 6, "expected labels with their meaning"),
        ({"scale": "0..1000"}, 6, "expected 2 to 101 labels"),
        ({"better": "more"}, 7, "better' is 'more'"),
        ({"stage": "generaton"}, 7, "'retrieval' or 'generation'"),
        ({"examples": f"[{{{EXAMPLE}: 3}}]"}, 7, "examples[0].label' is 3: expected one of 0, 1, 2."),
        ({"examples": f"[{{{EXAMPLE}: true}}]"}, 7, "examples[0].label' is True"),
        ({"examples": "[{user_input: a, reason: r, label: 1}]"}, 7, "examples[0]' has no response."),
        ({"examples": f"[{{{EXAMPLE}: 1, contexts: [x]}}]"}, 7, "examples[0]' has retrieved_contexts, which is no col"),
        ({"examples": "polite"}, 7, "examples' is 'polite'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_fault_in_a_definition_is_reported_with_its_line(
    changed: dict[str, str | None], line: int, message: str, tmp_path: Path
) -> None:
    keys = {key: value for key, value in {**GOOD, **changed}.items() if value is not None}
    reported = message_of(written("tone", keys), tmp_path)
    assert reported.startswith(f"config.yaml, line {line}: ")
    assert message in reported


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("faithfulness", "is the name of the metric 'faithfulness'"),
        ("Context_Utilization", "is the name of the metric 'context_precision_without_reference'"),
        ("my-tone", "is no name of a metric: expected at most 60 letters, digits and _"),
        ("2nd", "is no name of a metric"),
        ("t" * 61, "is no name of a metric"),
        ("question", "is the name of something else."),
        *(
            (name, "is the name of something else.")
            for name in ("sort", "generate", *prompt_owners(), "retrieval", "custom")
        ),
        ("mood", "is also a column of the rows, which its scores would replace."),
        ("dropped_contexts", "is the name of something else."),
        *((pack, "is the name of something else.") for pack in ("sort", "generate", "retrieval", "Custom")),
    ],
)
def test_a_name_that_cannot_be_had_is_reported_with_its_line(name: str, message: str, tmp_path: Path) -> None:
    reported = message_of(written(name, GOOD), tmp_path)
    assert reported.startswith(f"config.yaml, line 3: 'custom_metrics.{name}' {message}")


def test_a_metric_that_is_listed_but_not_defined_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    text = written("tone", GOOD).replace("[tone]", "[tome]")
    assert message_of(text, tmp_path) == (
        "config.yaml, line 1: metrics[0] is 'tome', which is not a metric. Did you mean 'tone'?"
    )


@pytest.mark.parametrize("given", [[GOOD], "tone", 3], ids=str)
def test_definitions_that_are_no_mapping_are_refused_in_python_as_in_yaml(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"'custom_metrics' is .*: input should be a valid dictionary"):
        RAGEvaluator({"metrics": ["tone"], "custom_metrics": given})


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("custom_metrics.tone.scale=[a]", "--set custom_metrics.tone.scale: 'custom_metrics.tone.scale' is ['a']: ex"),
        ("thresholds.tone=7", "--set thresholds.tone: 'thresholds.tone' is 7, expected a number from 0 to 2."),
        ("require=[tone >= 3]", "--set require: 'require[0]': "),
        ("metric_options.tone.x=1", "tone has no options."),
    ],
)
def test_a_fault_in_an_override_is_reported_as_it_was_typed(override: str, message: str, tmp_path: Path) -> None:
    assert message in message_of(written("tone", GOOD), tmp_path, override)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"function": "short"}, "function' is 'short': expected module:function, such as 'my_metrics:short'."),
        ({"function": "no_such_module:short"}, "which cannot be imported: ModuleNotFoundError: No module named"),
        ({"function": "os:sep"}, "'os:sep', which cannot be called with the columns"),
        ({"columns": "[response]"}, "cannot be called with the columns response as arguments: "),
        ({"range": "[1, 0]"}, "range' is [1, 0]: expected the lowest value and then the highest"),
        ({"scale": "0..10"}, "scale' is not a known key."),
    ],
    ids=str,
)
def test_a_fault_in_a_function_is_reported_with_its_line(changed: dict[str, str], message: str, tmp_path: Path) -> None:
    keys = {"function": "shutil:copyfile", "columns": "[src, dst]", **changed}
    reported = message_of(written("tone", keys), tmp_path)
    assert reported.startswith("config.yaml, line ")
    assert message in reported


def test_a_definition_that_is_not_listed_is_checked_and_named_in_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = written("tone", GOOD).replace("[tone]", "[bleu]")
    (tmp_path / "config.yaml").write_text(text, "utf-8")
    RAGEvaluator.from_config(tmp_path / "config.yaml", [])
    assert "custom_metrics has tone, which metrics does not: not scored" in caplog.text
    assert "scale' is 'x'" in message_of(text, tmp_path, "custom_metrics.tone.scale=x")


@pytest.mark.parametrize(("label", "scale"), [("1", {0: "rude", 1: "kind", 2: "polite"}), ("3", {3: "kind"})])
def test_one_label_can_be_changed_or_added_from_the_command_line(
    label: str, scale: dict[int, str], tmp_path: Path
) -> None:
    """YAML has whole numbers where the command line has texts."""
    (tmp_path / "config.yaml").write_text(written("tone", GOOD), "utf-8")
    evaluator = RAGEvaluator.from_config(tmp_path / "config.yaml", [f"custom_metrics.tone.scale.{label}=kind"])
    assert evaluator.metrics["tone"].question is not None
    assert evaluator.metrics["tone"].question.scale == {0: "rude", 1: "neutral", 2: "polite", **scale}
