"""The folder of a bundle: wheels, models, install.sh, README.txt, and the sums of all files."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.filesize import decimal

from rag_evaluator.config.paths import model_path
from rag_evaluator.config.schema import Config
from rag_evaluator.config.sections import BY_JUDGE, DEMO
from rag_evaluator.errors import ResultsError
from rag_evaluator.features.bundle.wheels import DISTRIBUTION, Target, download, torch_version
from rag_evaluator.files.atomic import file_digest, safe_names, write_text, writing
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.models.hub import find_model
from rag_evaluator.resources import __version__, packaged

TEXTS = ("install.sh", "README.txt")  # in this folder, with names between @ that are filled in
WHEELS, MODELS, SUMS = "wheels", "models", "SHA256SUMS"
MARKS = ("config.json", "modules.json", "adapter_config.json")  # of a model, of sentence-transformers, of an adapter


@dataclass(frozen=True)
class Model:
    """A model that is copied.

    Attributes:
        source: as the user or the configuration names it.
        place: folder on this machine.
        name: of its folder in `models/`.
    """

    source: str
    place: Path
    name: str


@dataclass(frozen=True)
class Bundle:
    """What is in a finished bundle; `wheels` are names of files, sizes are bytes."""

    out: Path
    target: Target
    extras: Sequence[str]
    torch: str
    wheels: Sequence[str]
    wheel_bytes: int
    models: Sequence[Model]
    model_bytes: int

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        models = [{**asdict(model), "place": str(model.place)} for model in self.models]
        return {**asdict(self), "out": str(self.out), "models": models, "program": __version__}


def models_of(config: Config) -> list[str]:
    """Models, adapters, verifier and reranker that a configuration names, without those that come with the program."""
    judge = [] if config.judge.engine == "server" else [config.judge.model, config.judge.adapter]
    verifier = [config.verifier.model, config.verifier.base]
    reranker = config.retrieval.reranker.model if config.retrieval.match == "reranker" else None
    others = [name for name in (*judge, config.embeddings.model, *verifier, reranker) if name and name != BY_JUDGE]
    return [name for name in others if name != DEMO]


def find_models(names: Sequence[str]) -> list[Model]:
    """Models in folders or in the Hugging Face cache, each once. Raises `ModelError` for what is not there."""
    places = {Path(find_model(model_path(name, Path.cwd()), True, "--models", MARKS)): name for name in names}
    titles = safe_names([_title(place) for place in places])
    return [Model(name, place, title) for (place, name), title in zip(places.items(), titles, strict=True)]


def _title(place: Path) -> str:
    """The name of a model's folder; in the cache `models--ORG--NAME/snapshots/REVISION` that of its repository."""
    return place.parents[1].name.rpartition("--")[2] if place.parent.name == "snapshots" else place.name


def make_bundle(
    out: Path, source: Path, extras: Sequence[str], target: Target, torch: str, models: Sequence[Model]
) -> Bundle:
    """Fill a new folder; it has its name once it is complete. Raises `ResultsError` if it is there, `PipError`."""
    if out.exists():
        raise ResultsError(f"{out}: is there already, and is not overwritten. Choose another folder with --out.")
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with writing(partial):
        (partial / WHEELS).mkdir(parents=True)
    download(partial / WHEELS, source, extras, target, torch)
    for model in models:
        with ACTIVITY.phase(f"copying {model.name}"), writing(partial):
            shutil.copytree(model.place, partial / MODELS / model.name, ignore=shutil.ignore_patterns(".*"))
    names = sorted(path.name for path in (partial / WHEELS).glob("*.whl"))
    sizes = [_size(partial / name) for name in (WHEELS, MODELS)]
    bundle = Bundle(out, target, extras, torch_version(partial / WHEELS), names, sizes[0], models, sizes[1])
    _write_texts(partial, bundle)
    write_text(partial / SUMS, "".join(_sums(partial)))
    partial.rename(out)
    return bundle


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _write_texts(folder: Path, bundle: Bundle) -> None:
    named = f"{DISTRIBUTION}[{','.join(bundle.extras)}]" if bundle.extras else DISTRIBUTION
    values = {
        "PYTHON": bundle.target.python,
        "GLIBC": f"2.{bundle.target.glibc}",
        "MACHINE": bundle.target.machine,
        "REQUIREMENT": f"{named}=={__version__}",
        "TARGET": str(bundle.target),
        "TORCH": bundle.torch,
        "WHEELS": f"{len(bundle.wheels)} wheels, {decimal(bundle.wheel_bytes)}",
        "MODELS": "\n".join(f"  {model.name}  from {model.source}" for model in bundle.models) or "  none was copied",
    }
    for name in TEXTS:
        text = Path(__file__).with_name(name).read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        write_text(folder / name, text)
    (folder / "install.sh").chmod(0o755)
    shutil.copy(packaged("launcher.sh"), folder)
    shutil.copytree(packaged("containers"), folder / "containers", dirs_exist_ok=True)


def _sums(folder: Path) -> Iterator[str]:
    """A line for each file, as `sha256sum` writes and checks them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    with ACTIVITY.phase("computing the sums"):
        for done, path in enumerate(paths):
            ACTIVITY.step(done, len(paths))
            yield f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
