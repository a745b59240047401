"""What `judges` adds: several judges on the same labelled rows, in one table."""

from pydantic import Field

from rag_evaluator.config import Command, Feature, Section

COMMANDS = "rag_evaluator.features.judges.command"
FEATURE = Feature(
    commands={"judges": Command(f"{COMMANDS}:judges", f"{COMMANDS}:add_judges_command", stoppable=True)},
    sections={"judges": "rag_evaluator.features.judges.feature:JudgesConfig"},
)


class JudgesConfig(Section):
    """When `judges` advises a faster judge.

    Attributes:
        margin: an AUC that is lower by less does not matter.
    """

    margin: float = Field(default=0.05, gt=0.0, lt=0.5)
