"""What `duel` adds: which of two runs answers better, row by row."""

from rag_evaluator.config import Command, Feature, Task

COMMANDS = "rag_evaluator.features.duel.command"
FEATURE = Feature(
    commands={"duel": Command(f"{COMMANDS}:duel", f"{COMMANDS}:add_duel_command", stoppable=True)},
    tasks={"duel": Task("rag_evaluator.features.duel.stage:of_journal", is_submitted=False)},
    prompts={"duel": "rag_evaluator.features.duel.judging:PROMPTS"},
)
