"""The test set that is kept in the example fits its documents."""

import json

import pytest
from docs_commands import ROOT

EXAMPLE = ROOT / "examples" / "testset"
ROWS = [json.loads(line) for line in (EXAMPLE / "testset.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_correct_context_of_the_example_is_in_its_documents(row: dict[str, list[str]]) -> None:
    documents = [path.read_text("utf-8") for path in (EXAMPLE / "documents").glob("*.md")]
    assert row["reference_contexts"]
    assert all(any(context in document for document in documents) for context in row["reference_contexts"])
