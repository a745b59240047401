"""The folder of a bundle: wheels, models, install.sh, and the sums of all files."""

import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag_evaluator.config import DEMO, Config, model_path
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import ACTIVITY, file_digest, safe_names, write_text, writing
from rag_evaluator.hub import find_model
from rag_evaluator.resources import __version__, packaged

from .wheels import GLIBC, download

INSTALL = "install.sh"
SUMS = "SHA256SUMS"
MARKS = ("config.json", "modules.json", "adapter_config.json")  # of a model, of sentence-transformers, of an adapter


def models_of(config: Config) -> list[str]:
    """Models, adapters, verifier and reranker that a configuration names, without those that come with the program."""
    judge = [] if config.judge.engine == "server" else [config.judge.model, config.judge.adapter]
    verifier = [config.verifier.model, config.verifier.base] if config.verifier.has_folder else []
    reranker = config.retrieval.reranker.model if config.retrieval.match == "reranker" else None
    others = [name for name in (*judge, config.embeddings.model, *verifier, reranker) if name]
    return [name for name in others if name != DEMO]


def find_models(names: Sequence[str]) -> dict[str, Path]:
    """Name of its folder in `models/` -> folder or place in the Hugging Face cache, each once. Raises `ModelError`."""
    places = {Path(find_model(model_path(name, Path.cwd()), True, "--models", MARKS)): None for name in names}
    return dict(zip(safe_names([_title(place) for place in places]), places, strict=True))


def _title(place: Path) -> str:
    """The name of a model's folder; in the cache `models--ORG--NAME/snapshots/REVISION` that of its repository."""
    return place.parents[1].name.rpartition("--")[2] if place.parent.name == "snapshots" else place.name


def make_bundle(out: Path, source: Path, extras: Sequence[str], torch: str, models: Mapping[str, Path]) -> str:
    """Fill a new folder, which has its name once it is complete; returns the version of torch.

    Raises `ResultsError` if the folder is there, or pip gets not all.
    """
    if out.exists():
        raise ResultsError(f"{out}: is there already, and is not overwritten. Choose another folder with --out.")
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with writing(partial):
        (partial / "wheels").mkdir(parents=True)
    version = download(partial / "wheels", source, extras, torch)
    for name, place in models.items():
        with ACTIVITY.phase(f"copying {name}"), writing(partial):
            shutil.copytree(place, partial / "models" / name, ignore=shutil.ignore_patterns(".*"))
    text = Path(__file__).with_name(INSTALL).read_text(encoding="utf-8")
    values = {
        "PYTHON": "{}.{}".format(*sys.version_info),
        "GLIBC": f"2.{GLIBC}",
        "MACHINE": platform.machine(),
        "REQUIREMENT": f"ragas-offline[{','.join(extras)}]=={__version__}",
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    write_text(partial / INSTALL, text)
    (partial / INSTALL).chmod(0o755)
    shutil.copy(packaged("launcher.sh"), partial)
    shutil.copytree(packaged("containers"), partial / "containers")
    with ACTIVITY.phase("computing the sums"):
        files = sorted(path for path in partial.rglob("*") if path.is_file())
        sums = [f"{file_digest(path)}  {path.relative_to(partial).as_posix()}\n" for path in files]
        write_text(partial / SUMS, "".join(sums))  # as `sha256sum` writes and checks them
    partial.rename(out)
    return version
