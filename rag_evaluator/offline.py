"""Privacy switches: no telemetry ever, no network while `offline: true`."""

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
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def disable_telemetry() -> None:
    """Switch usage tracking off in ragas, Hugging Face and LangSmith; called when the package is imported."""
    os.environ.update(NO_TELEMETRY)


def disable_network() -> None:
    """Keep the Hugging Face libraries from opening connections, also where they are imported already."""
    os.environ.update(NO_NETWORK)
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is not None:  # a notebook may have imported it: it read the variable then
        constants.HF_HUB_OFFLINE = True  # type: ignore[attr-defined]
