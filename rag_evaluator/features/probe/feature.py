"""What `probe` adds: whether the judge notices rows that were changed for the worse."""

from pydantic import Field

from rag_evaluator.config import Command, Feature, Section, Task

COMMANDS = "rag_evaluator.features.probe.command"
FEATURE = Feature(
    commands={"probe": Command(f"{COMMANDS}:probe", f"{COMMANDS}:add_probe_command", stoppable=True)},
    tasks={"probe": Task("rag_evaluator.features.probe.stage:of_journal")},
    sections={"probe": "rag_evaluator.features.probe.feature:ProbeConfig"},
    hooks={"report": "rag_evaluator.features.probe.report:report_part"},
)


class ProbeConfig(Section):
    """What `probe` changes.

    Attributes:
        sample: rows that are changed at most.
        seed: of the choice of rows and replacements.
    """

    sample: int = Field(default=50, ge=1)
    seed: int = Field(default=0, ge=0)
