"""What `bundle` adds: everything that a node without network needs, in one folder."""

from rag_evaluator.config import Command, Feature

COMMANDS = "rag_evaluator.features.bundle.command"
FEATURE = Feature(
    commands={"bundle": Command(f"{COMMANDS}:bundle", f"{COMMANDS}:add_bundle_command", "cluster", continued=True)}
)
