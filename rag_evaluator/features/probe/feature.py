"""What `probe` adds: whether the judge notices rows that were changed for the worse."""

from rag_evaluator.config.features import Command, Feature, Task

COMMANDS = "rag_evaluator.features.probe.command"
FEATURE = Feature(
    commands={"probe": Command(f"{COMMANDS}:probe", f"{COMMANDS}:add_probe_command", stoppable=True)},
    tasks={"probe": Task("rag_evaluator.features.probe.stage:of_journal")},
    sections={"probe": "rag_evaluator.features.probe.section:ProbeConfig"},
)
