"""The memory that a process may have, by the machine and by its cgroups, and a model that it cannot hold."""

from pathlib import Path

import psutil
import pytest
from aliases import ModelFolder, Patch

from rag_evaluator import Judge, ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.hub import main_memory

MB = 1 << 20
FILES = {  # version -> line in /proc/self/cgroup, files of a job with 800 MB and of its step without a limit
    "2": ("0::/job/step", "memory.max", "memory.current", "inactive_file {}\nactive_file {}\n"),
    "1": (
        "4:memory:/job/step",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "inactive_file 0\nactive_file 0\ntotal_inactive_file {}\ntotal_active_file {}\n",
    ),
}


@pytest.fixture(params=FILES)
def cgroup(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> Path:
    """The folder of a job that may have 800 MB and has used 500, 120 of them for files."""
    line, limit, used, counts = FILES[request.param]
    root = tmp_path / "cgroup"
    for folder, most in ((root / "job", str(800 * MB)), (root / "job" / "step", "max")):
        folder.mkdir(parents=True)
        (folder / limit).write_text(f"{most}\n")
        (folder / used).write_text(f"{500 * MB}\n")
        (folder / "memory.stat").write_text("anon 7\n" + counts.format(100 * MB, 20 * MB))
    (tmp_path / "own").write_text(f"9:name=systemd:/\n{line}\n")
    controllers = "" if request.param == "2" else "memory"
    prefix = "" if request.param == "2" else "total_"
    monkeypatch.setattr("rag_evaluator.hub.machine.OWN", tmp_path / "own")
    monkeypatch.setattr("rag_evaluator.hub.machine.CGROUPS", {controllers: (str(root), limit, used, prefix)})
    return root / "job"


def test_the_limit_of_a_cgroup_counts_also_where_a_level_above_has_it(cgroup: Path) -> None:
    assert main_memory() == (800 * MB, 420 * MB)


def test_without_cgroups_it_is_that_of_the_machine(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr("rag_evaluator.hub.machine.OWN", tmp_path / "nothing")
    total, free = main_memory()
    assert total == psutil.virtual_memory().total and 0 < free < total


def test_a_model_that_memory_can_never_hold_is_refused_before_it_is_loaded(
    model_folder: ModelFolder, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("rag_evaluator.judge.engines.transformers.loading.main_memory", lambda: (1000, 900))
    with pytest.raises(ModelError, match=r"^judge\.model: the weights of .* take .* may have 1\.0 kB of memory"):
        Judge.from_config(JudgeConfig(model=str(model_folder("llama"))))
