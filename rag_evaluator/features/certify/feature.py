"""What `certify` adds: how far scores agree with labels that people gave."""

from rag_evaluator.config import Command, Feature

COMMANDS = "rag_evaluator.features.certify.command"
SHEET = "certify sheet"
FEATURE = Feature(
    commands={
        "certify": Command(f"{COMMANDS}:certify", f"{COMMANDS}:add_certify_command", long=True),
        SHEET: Command(f"{COMMANDS}:sheet", f"{COMMANDS}:add_sheet_command"),
    },
)
