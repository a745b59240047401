"""An old key, command or name is answered with what to use in its place."""

from pathlib import Path

import pytest

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.config.schema import make_config


@pytest.mark.parametrize(
    ("text", "key", "instead"),
    [
        ("weight: share", "weight", "group_by"),
        ("metric_options: {faithfulness: {audit: 0.1}}", "metric_options.faithfulness.audit", "verdicts: verifier"),
        (
            "metric_options: {faithfulness: {doubtful: [0, 1]}}",
            "metric_options.faithfulness.doubtful",
            "verdicts: judge",
        ),
    ],
)
def test_an_old_key_is_answered_with_its_line_and_what_to_write(
    tmp_path: Path, text: str, key: str, instead: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"metrics: [faithfulness]\n{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"line 2: '{key}' is no key any more\. .*{instead}"):
        RAGEvaluator.from_config(path)


def test_an_old_key_without_a_value_as_earlier_runs_saved_it_is_left_out() -> None:
    assert make_config({"metrics": ["exact_match"], "weight": None}) == make_config({"metrics": ["exact_match"]})
