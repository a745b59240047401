"""What `view` and `review` add: results in the browser, and what people say of them."""

from rag_evaluator.config import Command, Feature

COMMANDS = "rag_evaluator.features.app.command"
FEATURE = Feature(
    commands={
        "view": Command(f"{COMMANDS}:view", f"{COMMANDS}:add_view_command"),
        "review": Command(f"{COMMANDS}:review", f"{COMMANDS}:add_review_commands"),
    },
    next={"many rows": ("view",)},
)
