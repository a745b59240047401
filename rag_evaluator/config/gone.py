"""What earlier versions had, and what to use in its place: the answer to an old key, command or name."""

from collections.abc import Mapping

KEYS: Mapping[str, str] = {}
"""Key of the configuration, as in messages -> what to do."""
COMMANDS: Mapping[str, str] = {
    "plan": "check says what a run takes, compare how many rows a difference needs: rag-evaluator check config.yaml",
    "doctor": "check without a configuration shows versions and devices: rag-evaluator check",
}
"""Command -> what to do."""
NAMES: Mapping[str, str] = {
    "plan": "Use check(config): its check 'cost' says what a run takes.",
    "PlannedJudge": "Use check(config): its check 'cost' says what a run takes.",
    "PlannedMetric": "Use check(config): its check 'cost' says what a run takes.",
    "PlannedRun": "Use check(config): its check 'cost' says what a run takes.",
    "doctor": "Use check(config), whose check 'versions' has them, or the command: rag-evaluator check",
    "Diagnosis": "Use check(config), whose check 'versions' has them, or the command: rag-evaluator check",
}
"""Public name of the package -> what to do."""
