"""`rag-evaluator bundle` with a folder of tiny wheels in place of an index, and its install.sh without network."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from aliases import Capture, Patch
from folders import error_of

from rag_evaluator import __version__
from rag_evaluator.hub import fingerprint

pytestmark = pytest.mark.processes
ROOT = Path(__file__).parents[3]
HERE = "{}.{}".format(*sys.version_info)
Make = Callable[..., int]
WITHOUT_NETWORK = ["unshare", "--net"]
if subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode:
    WITHOUT_NETWORK = []  # only root may


def install(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """install.sh as on a node: no network, a clean environment."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "PYTHON": sys.executable, **environment}
    command = [*WITHOUT_NETWORK, "sh", "bundle/install.sh", *arguments]
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False)


def test_a_bundle_installs_without_network_and_its_sums_are_those_of_sha256sum(on_node: Path) -> None:
    sums = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=on_node, capture_output=True)
    assert sums.returncode == 0, sums.stderr
    listed = {line.split("  ", 1)[1] for line in (on_node / "SHA256SUMS").read_text().splitlines()}
    files = {str(path.relative_to(on_node)) for path in on_node.rglob("*") if path.is_file()}
    assert listed == files - {"SHA256SUMS"}
    done = install()
    assert done.returncode == 0, done.stderr
    assert (
        f"rag-evaluator {__version__}, tiny\nNext: .venv/bin/rag-evaluator check config.yaml, or a trial: "
        in done.stdout
    )
    assert f"--set judge.model={on_node}/models/Tiny-Judge\n" in done.stdout
    again = install()
    assert (again.returncode, "is not overwritten" in again.stderr) == (2, True)


def test_models_are_copied_as_files(make: Make, model: Path, capsys: Capture) -> None:
    Path("bundle.partial/wheels").mkdir(parents=True)  # of a command that was interrupted
    assert make("--models", str(model)) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert "torch 2.13.0+cpu, models/Tiny-Judge" in first
    assert "`bash bundle/install.sh`" in first
    assert not Path("bundle.partial").exists()
    copy = Path("bundle/models/Tiny-Judge")
    assert {path.name for path in copy.iterdir() if not path.is_symlink()} == {
        "config.json",
        "model.safetensors",
        "pytorch_model.bin",
    }
    assert fingerprint(copy) == fingerprint(model)


def test_models_of_a_configuration_are_found_in_the_cache(
    make: Make, model: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(model.parents[2]))
    Path("config.yaml").write_text("dataset: rows.jsonl\nmetrics: [faithfulness]\njudge: {model: org/Tiny-Judge}\n")
    assert make("--config", "config.yaml") == 0
    assert "models/Tiny-Judge" in capsys.readouterr().out
    assert fingerprint(Path("bundle/models/Tiny-Judge")) == fingerprint(model)


@pytest.mark.parametrize("name", ["wheels/grain-1.2-py3-none-any.whl", "models/Tiny-Judge/config.json", "launcher.sh"])
@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"half")], ids=["missing", "damaged"])
def test_a_damaged_bundle_is_not_installed(on_node: Path, spoil: Callable[[Path], object], name: str) -> None:
    spoil(on_node / name)
    done = install()
    assert (done.returncode, "Copy the folder again" in done.stderr, Path(".venv").exists()) == (2, True, False)
    assert name in done.stderr


def test_wheels_are_installed_where_no_models_were_copied(on_node: Path) -> None:
    shutil.rmtree(on_node / "models")
    done = install("/proc/cannot-be-made")
    assert "models/ is not here: models are not checked\ninstalling into /proc/cannot-be-made" in done.stdout
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("line", "other", "expected"),
    [
        (f"version={HERE} ", "version=3.99 ", "error: this bundle is for Python 3.99, and "),
        ("glibc=2.31 ", "glibc=2.99 ", "error: this bundle needs glibc 2.99 or newer, and here is "),
        ("machine=x86_64\n", "machine=sparc\n", "error: this bundle is for Linux on sparc, and this is Linux on "),
    ],
)
def test_a_node_of_another_kind_is_refused_in_words(on_node: Path, line: str, other: str, expected: str) -> None:
    script = (on_node / "install.sh").read_text()
    assert line in script
    (on_node / "install.sh").write_text(script.replace(line, other))
    done = install()
    assert (done.returncode, done.stderr.startswith(expected), Path(".venv").exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--models", "./nowhere"], "--models: no such folder: "),
        (["--models", "org/never-downloaded"], "is not in the Hugging Face cache"),
        (["--models", "links"], "--models: {here}/links is not a model folder"),
        (["--wheel", "links/spice-1.0-py3-none-any.whl"], "expected the file of a wheel of this program"),
        (["--out", "links"], "links: is there already, and is not overwritten"),
    ],
)
def test_what_cannot_be_bundled_is_refused_before_anything_is_downloaded(
    make: Make, arguments: list[str], expected: str, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.setattr("rag_evaluator.features.bundle.contents.download", None)
    before = sorted(tmp_path.rglob("*"))
    assert make(*arguments) == 2
    assert expected.format(here=tmp_path) in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_where_pip_finds_no_wheel_nothing_is_left_that_stops_another_command(make: Make, capfd: Capture) -> None:
    assert make("--extras", "gone") == 2
    shown = capfd.readouterr().err
    assert "No matching distribution found for gone" in shown
    assert "A package may have no wheel" in shown
    assert not Path("bundle").exists()
    assert make() == 0


def test_a_program_that_was_installed_needs_its_wheel(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr("rag_evaluator.features.bundle.wheels.PACKAGE", tmp_path)
    (tmp_path / "data").mkdir()
    assert "give its wheel, --wheel" in error_of(capsys, "bundle", "--out", tmp_path / "bundle")
