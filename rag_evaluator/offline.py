"""Switches of the libraries: no telemetry ever, no network while `offline: true`, no chatter in commands."""

import os
import sys

NO_TELEMETRY = {
    "RAGAS_DO_NOT_TRACK": "true",  # ragas caches its answer at first use, so this is set before it is imported
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "TOKENIZERS_PARALLELISM": "false",  # not privacy: it silences a warning about forked workers
}
QUIET_LIBRARIES = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1"}
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def disable_telemetry() -> None:
    """Switch usage tracking off in ragas, Hugging Face and LangSmith; called when the package is imported."""
    os.environ.update(NO_TELEMETRY)


def quiet_libraries() -> None:
    """Keep progress bars and notes of the libraries out of a command's output; what the user set stays."""
    for name, value in QUIET_LIBRARIES.items():
        os.environ.setdefault(name, value)


def disable_network() -> None:
    """Keep the Hugging Face libraries from opening connections, also where they are imported already."""
    os.environ.update(NO_NETWORK)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None:  # a notebook may have imported it: it read the variable then
        constants.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]
