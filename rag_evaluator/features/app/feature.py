"""What `view` and `review` add: results in the browser, and what people say of them."""

from rag_evaluator.config.features import Command, Feature

HERE = "rag_evaluator.features.app"
FEATURE = Feature(
    commands={
        "view": Command(f"{HERE}.view_command:view", f"{HERE}.view_command:add_view_command"),
        "review": Command(f"{HERE}.review_command:review", f"{HERE}.review_command:add_review_commands"),
    },
)
