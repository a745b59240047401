"""What earlier versions had, and what to use in its place: the answer to an old key, command or name."""

from collections.abc import Mapping

KEYS: Mapping[str, str] = {
    "judges": "Run each judge alone (--set judge.model=MODEL --set name=NAME), then: rag-evaluator compare "
    "results/NAME results/OTHER",
}
"""Key of the configuration, as in messages -> what to do."""
COMMANDS: Mapping[str, str] = {}
"""Command -> what to do."""
NAMES: Mapping[str, str] = {}
"""Public name of the package -> what to do."""
