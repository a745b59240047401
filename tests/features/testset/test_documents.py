"""Documents of many kinds are read; what cannot be is named with its reason."""

from pathlib import Path

import pytest

from tests.features.testset.document_files import write_docx, write_pdf
from tests.features.testset.read_corpora import ReadCorpus, read_corpus


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    return tmp_path / "documents"


def read(documents: Path, **keys: str) -> ReadCorpus:
    return read_corpus(documents.parent / "project", documents, **keys)


def test_each_format_gives_its_text_and_headings(documents: Path) -> None:
    (documents / "a.txt").write_text("Die Brücke von Arlen\n", "utf-8")
    (documents / "b.md").write_text("# Arlen\n\n412 m", "utf-8")
    (documents / "deep").mkdir()
    (documents / "deep" / "c.HTML").write_text("<h2>Puente</h2><p>Mide <b>412</b> metros.</p><script>x()</script>")
    write_docx(documents / "d.docx", "Bridge", "It is 412 metres long.")
    write_pdf(documents / "e.pdf", "The bridge of Arlen is 412 metres long.")
    found = read(documents).texts
    assert list(found) == ["a.txt", "b.md", "d.docx", "deep/c.HTML", "e.pdf"]
    assert found["deep/c.HTML"] == "## Puente\n\nMide **412** metros."
    assert found["d.docx"].startswith("# Bridge\n\nIt is 412")
    assert found["e.pdf"].strip() == "The bridge of Arlen is 412 metres long."


def test_a_table_gives_a_document_a_row_named_by_its_id(documents: Path) -> None:
    (documents / "a.csv").write_text("id,Text,cuerpo\nx,one,uno\nx,two,dos\n,three,tres\n", "utf-8")
    assert read(documents).texts == {"a.csv#x": "one", "a.csv#x (2)": "two", "a.csv#2": "three"}
    assert read(documents, text_column="Cuerpo").texts == {"a.csv#x": "uno", "a.csv#x (2)": "dos", "a.csv#2": "tres"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("scan.pdf", None, "no text in it. A scan needs OCR"),
        ("blank.md", b" \n\n", "no text in it"),
        ("broken.docx", b"no archive", "cannot be read"),
        ("broken.pdf", b"%PDF-1.4 nothing", "cannot be read"),
        ("rows.csv", b"a,b\n1,2\n", "no column with the text, expected one of text, page_content"),
        ("video.mp4", b"\0", "unknown suffix '.mp4'"),
        ("empty.jsonl", b"", "empty file"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_read(
    documents: Path, name: str, content: bytes | None, reason: str
) -> None:
    (documents / "good.txt").write_text("good", "utf-8")
    if content is None:
        write_pdf(documents / name, "")
    else:
        (documents / name).write_bytes(content)
    found = read(documents)
    assert reason in found.unread[name]
    assert found.texts == {"good.txt": "good"}


def test_a_row_without_text_and_a_broken_end_are_named_and_the_other_rows_are_read(documents: Path) -> None:
    (documents / "rows.jsonl").write_text('{"text": "one"}\n{"title": "two"}\n{"text": "three"}\n{"text": "four"\n')
    found = read(documents)
    assert found.texts == {"rows.jsonl#0": "one", "rows.jsonl#2": "three"}
    reasons = found.unread
    assert reasons["rows.jsonl#1"].startswith("no text in it") and "broken JSON" in reasons["rows.jsonl"]


def test_links_that_are_not_followed_are_named_and_hidden_files_and_office_locks_are_not(documents: Path) -> None:
    for name in (".git/config.txt", "~$open.docx", "a.txt"):
        (documents / name).parent.mkdir(exist_ok=True)
        (documents / name).write_text("one")
    (documents / "again").symlink_to(documents)
    (documents / "gone.txt").symlink_to(documents / "nothing.txt")
    found = read(documents)
    assert found.texts == {"a.txt": "one"}
    assert list(found.unread) == ["again", "gone.txt"]


@pytest.mark.parametrize("name", ["no", ""])
def test_a_folder_without_documents_is_an_error(documents: Path, name: str) -> None:
    error = read(documents / name if name else documents).error
    assert ("no such file or folder" if name else "no documents here. Expected files with one of") in error


def test_documents_of_the_same_name_stay_apart(documents: Path) -> None:
    folders = [documents / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        (folder / "README.md").write_text(f"the text of {folder.name}", "utf-8")
    found = read_corpus(documents.parent / "project", *folders)
    assert list(found.texts) == ["README.md", "README.md (2)"]
