"""What `init`, `check` and `list` add: everything before a run."""

from rag_evaluator.config import Command, Feature

HERE = "rag_evaluator.features.setup"
FEATURE = Feature(
    commands={
        "init": Command(f"{HERE}.init_command:init", f"{HERE}.init_command:add_init_command", "main job"),
        "check": Command(
            f"{HERE}.check_command:check", f"{HERE}.check_command:add_check_command", "main job", long=True
        ),
        "list": Command(f"{HERE}.init_command:list_names", f"{HERE}.init_command:add_list_command"),
    },
    next={"no configuration": ("init", "my_rows.csv"), "sample": ("init", "ROWS", "--judge", "MODEL")},
)
