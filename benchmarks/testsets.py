"""`python -m benchmarks.testsets`: time and memory of `make_testset` as documents grow; writes benchmarks/testsets.md.

Documents are generated, the bundled embedding model is real, the judge is a script: what is measured is all but the
judge. Each size has a process of its own, so that its memory is its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from benchmarks.report import machine, table
from rag_evaluator import ScriptedJudge, make_testset

PAGE = Path("benchmarks/testsets.md")
PARAGRAPH = (
    "Paragraph {number}: the bridge of town {number} crosses the river near the old market and is {length} metres "
    "long. It was built of stone in {year} by the people of the town, who were proud of it."
)
OF_A_DOCUMENT = 20  # paragraphs, a chunk each
CHUNK_TOKENS = 64
MEGABYTE = 1024  # units of ru_maxrss on Linux


def main() -> None:
    """Measure each size in a process of its own, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.testsets", description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--alone", action="store_true", help="measure in this process, and print the figures")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options.chunks[0], options.candidates)))
        return
    found = [measured_apart(chunks, options.candidates) for chunks in options.chunks]
    PAGE.write_text(page(found, options.candidates), encoding="utf-8")


def measured_apart(chunks: int, candidates: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.testsets", "--alone", "--chunks", str(chunks)]
    ended = subprocess.run([*command, "--candidates", str(candidates)], check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def measure(chunks: int, candidates: int) -> dict[str, Any]:
    """Chunks, CPU seconds, seconds and memory of a whole test set, and of its second start, which embeds nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_documents(folder / "documents", chunks)
        first = _made(folder, candidates)
        second = _made(folder, candidates, fresh=True)
    return {**first, "again": second["cpu"]}


def _made(folder: Path, candidates: int, fresh: bool = False) -> dict[str, Any]:
    cpu, clock = time.process_time(), time.perf_counter()
    made = make_testset(
        [folder / "documents"],
        candidates // 2,
        judge=ScriptedJudge(_said, lambda prompt, options: options[0], model_id="benchmark"),
        config={
            "metrics": ["faithfulness"],
            "testset": {"chunk_tokens": CHUNK_TOKENS, "candidates": candidates, "kinds": {"single_fact": 1}},
        },
        output_dir=folder / "out",
        fresh=fresh,
        progress=lambda done, total: None,
    )
    return {
        "chunks": made.summary["chunks"],
        "chosen": made.summary["chosen"],
        "cpu": time.process_time() - cpu,
        "seconds": time.perf_counter() - clock,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE,
    }


def write_documents(folder: Path, chunks: int) -> None:
    """Documents of `OF_A_DOCUMENT` paragraphs each."""
    folder.mkdir()
    for start in range(0, chunks, OF_A_DOCUMENT):
        numbers = range(start, min(start + OF_A_DOCUMENT, chunks))
        text = "\n\n".join(PARAGRAPH.format(number=n, length=300 + n % 977, year=1200 + n % 800) for n in numbers)
        (folder / f"{start:07d}.txt").write_text(text, encoding="utf-8")


def _said(prompt: str, response_model: type) -> dict[str, Any]:
    """A question that names what it is about; answers that agree; nothing by heart. Any: the prompt has its data."""
    data: Any = prompt.data  # type: ignore[attr-defined]
    if response_model.__name__ == "KnownOutput":
        return {"known": 0, "answer": ""}
    if response_model.__name__ == "ReferenceOutput":
        return {"answerable": 1, "answer": "The text says how many metres it is."}
    town = data.contexts[0].split(":")[0].removeprefix("Paragraph ")
    question = f"How long is the bridge of the town {town} that crosses the river near the old market?"
    return {"question": question, "answer": f"It is as long as the paragraph about it says, number {town}."}


def page(found: list[dict[str, Any]], candidates: int) -> str:
    rows = [
        [
            f"{figures['chunks']:,}",
            f"{figures['cpu']:.0f} s",
            f"{figures['again']:.0f} s",
            f"{figures['memory']:.0f} MiB",
        ]
        for figures in found
    ]
    columns = ["chunks", "CPU time", "again, vectors kept", "largest memory"]
    return (
        f"# Test sets from many chunks\n\n`make_testset` with {candidates} candidates from generated documents of "
        f"{OF_A_DOCUMENT} paragraphs, chunks of at most {CHUNK_TOKENS} tokens, the bundled embedding model, a scripted "
        f"judge. Made by `python -m benchmarks.testsets`.\n\n{table(columns, rows)}\n\n"
        "Nearly all of it is the embedding model, which each chunk passes once; a killed or repeated start finds the\n"
        f"vectors in a file. A real judge comes on top. {machine()}.\n"
    )


if __name__ == "__main__":
    main()
