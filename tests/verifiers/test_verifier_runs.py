"""Runs of a verifier: workers, one of them killed, give the bytes of one process; probe and certify work on them."""

import json
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
import tiny_verifiers

from rag_evaluator.cli.main import main

PLACES = ("Tesk", "Vosk", "Harn", "Selo", "Narl", "Brun")


def rows_of(count: int) -> list[dict[str, object]]:
    return [
        {
            "user_input": f"Where was person {number} born?",
            "retrieved_contexts": [
                f"Person {number} was born in {place} in 19{number:02}.",
                f"{place} lies on the Om.",
            ],
            "response": f"Person {number} was born in {place}. Is that far? {place} lies on the sea.",
            "reference": f"Person {number} was born in {place}.",
        }
        for number, place in ((number, PLACES[number % len(PLACES)]) for number in range(count))
    ]


def write_config(folder: Path, verifier: Path | str, judge: Path, count: int) -> Path:
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of(count)), encoding="utf-8")
    config = {
        "dataset": "rows.jsonl",
        "chunk_size": 3,
        "metrics": ["groundedness", "context_coverage"],
        "verifier": {"model": str(verifier)},
        "judge": {"model": str(judge), "dtype": "float32", "batch_size": 4, "max_new_tokens": 32},
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    return folder / "config.yaml"


@pytest.mark.models
def test_probe_gives_the_control_and_certify_takes_labels_of_sentences(
    tmp_path: Path, model_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    verifier = tiny_verifiers.make("minicheck-roberta", tmp_path / "minicheck")
    config = write_config(tmp_path / "run", verifier, model_folder("llama-bytelevel"), 30)
    assert main([str(config)]) == 0
    assert "according to this verifier" in capsys.readouterr().out
    assert main(["probe", str(config), "--sample", "6"]) in (0, 1)
    shown = capsys.readouterr().out
    assert "As many contexts of other rows support" in shown
    assert "(the control)" in shown
    results, sheet = tmp_path / "run" / "results" / "run", tmp_path / "sheet.xlsx"
    assert main(["certify", "sheet", str(results), "--out", str(sheet), "--sentences", "--size", "30"]) == 0
    book = openpyxl.load_workbook(sheet)
    table = book.worksheets[0]
    heading = [cell.value for cell in table[1]]
    label, statement = heading.index("label"), heading.index("statement")
    assert "probability" not in heading
    for line in table.iter_rows(min_row=2):
        line[label].value = "no" if "sea" in str(line[statement].value) else "yes"
    book.save(sheet)
    capsys.readouterr()
    assert main(["certify", str(results), "--labels", str(sheet)]) in (0, 1)
    assert "threshold" in capsys.readouterr().out
    certificate = json.loads((results / "certificate.json").read_bytes())["verifier"]
    assert set(certificate) == {"groundedness", "context_coverage"} & set(certificate) != set()
    threshold = certificate["groundedness"]["threshold"]
    chosen = ["--set", "verifier.threshold=certificate", "--set", f"certificate={results / 'certificate.json'}"]
    assert main([str(config), *chosen, "--set", "name=again", "--set", "metrics=[groundedness]"]) == 0
    manifest = json.loads((results.with_name("again") / "manifest.json").read_bytes())
    assert f'"threshold": {threshold}' in manifest["signatures"]["groundedness"]
