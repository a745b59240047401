"""What `testset` adds: questions from documents, and checks of those that exist."""

from rag_evaluator.config import Command, Feature, Task

COMMANDS = "rag_evaluator.features.testset.command"
FEATURE = Feature(
    commands={
        "testset make": Command(f"{COMMANDS}:make", f"{COMMANDS}:add_make_command", stoppable=True),
        "testset check": Command(f"{COMMANDS}:check", f"{COMMANDS}:add_check_command", stoppable=True),
    },
    tasks={
        "testset": Task("rag_evaluator.features.testset.stage:of_journal", is_submitted=False),
        "testset_check": Task("rag_evaluator.features.testset.check:of_journal", is_submitted=False),
    },
    sections={"testset": "rag_evaluator.features.testset.section:TestsetConfig"},
    prompts={"testset": "rag_evaluator.features.testset.checker:PROMPTS"},
)
