"""What `probe` adds: whether the judge notices rows that were changed for the worse."""

from pydantic import Field

from rag_evaluator.config.features import Command, Feature, Task
from rag_evaluator.config.sections import Section

COMMANDS = "rag_evaluator.features.probe.command"
FEATURE = Feature(
    commands={"probe": Command(f"{COMMANDS}:probe", f"{COMMANDS}:add_probe_command", stoppable=True)},
    tasks={"probe": Task("rag_evaluator.features.probe.stage:of_journal")},
    sections={"probe": "rag_evaluator.features.probe.feature:ProbeConfig"},
)


class ProbeConfig(Section):
    """What `probe` changes, and what its words mean.

    Attributes:
        sample: rows that are changed at most.
        seed: of the choice of rows and replacements.
        pairs: a cell with fewer is `too few`.
        reliable: the lower end of the win share of a `reliable` cell is at least this.
        false_alarms: the upper end of its false alarms is at most this.
        useless: a cell that is not `weak`, and whose upper end is below this, is `no better than chance`.
    """

    sample: int = Field(default=50, ge=1)
    seed: int = Field(default=0, ge=0)
    pairs: int = Field(default=20, ge=1)
    reliable: float = Field(default=0.8, ge=0.5, le=1)
    false_alarms: float = Field(default=0.15, ge=0, le=1)
    useless: float = Field(default=0.7, ge=0.5, le=1)
