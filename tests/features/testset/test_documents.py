"""Documents of many kinds are read; what cannot be is named with its reason."""

from pathlib import Path

import pytest

from rag_evaluator import DatasetError
from rag_evaluator.features.testset.readers import read_documents
from tests.features.testset.document_files import write_docx, write_pdf


def read(folder: Path, **options: str) -> dict[str, str]:
    return {entry.id: entry.text for entry in read_documents([folder], **options) if entry.unread is None}


def unread(folder: Path, **options: str) -> dict[str, str]:
    return {entry.id: entry.unread for entry in read_documents([folder], **options) if entry.unread}


def test_each_format_gives_its_text_and_headings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Die Brücke von Arlen\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# Arlen\n\n412 m", encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.HTML").write_text("<h2>Puente</h2><p>Mide <b>412</b> metros.</p><script>x()</script>")
    write_docx(tmp_path / "d.docx", "Bridge", "It is 412 metres long.")
    write_pdf(tmp_path / "e.pdf", "The bridge of Arlen is 412 metres long.")
    found = read(tmp_path)
    assert list(found) == ["a.txt", "b.md", "d.docx", "deep/c.HTML", "e.pdf"]
    assert found["deep/c.HTML"] == "## Puente\n\nMide **412** metros."
    assert found["d.docx"].startswith("# Bridge\n\nIt is 412")
    assert found["e.pdf"].strip() == "The bridge of Arlen is 412 metres long."


def test_a_table_gives_a_document_a_row_named_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,Text,cuerpo\nx,one,uno\nx,two,dos\n,three,tres\n", encoding="utf-8")
    assert read(tmp_path) == {"a.csv#x": "one", "a.csv#x (2)": "two", "a.csv#2": "three"}
    assert read(tmp_path, text_column="Cuerpo") == {"a.csv#x": "uno", "a.csv#x (2)": "dos", "a.csv#2": "tres"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("scan.pdf", None, "no text in it. A scan needs OCR"),
        ("latin.txt", b"caf\xe9", "line 1: expected UTF-8, received the byte 0xe9"),
        ("utf16.txt", "Größe".encode("utf-16"), "The file looks like UTF-16"),
        ("blank.md", b" \n\n", "no text in it"),
        ("broken.docx", b"no archive", "cannot be read"),
        ("broken.pdf", b"%PDF-1.4 nothing", "cannot be read"),
        ("rows.csv", b"a,b\n1,2\n", "no column with the text, expected one of text, page_content"),
        ("video.mp4", b"\0", "unknown suffix '.mp4'"),
        ("empty.jsonl", b"", "empty file"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_read(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    (tmp_path / "good.txt").write_text("good", encoding="utf-8")
    if content is None:
        write_pdf(tmp_path / name, "")
    else:
        (tmp_path / name).write_bytes(content)
    assert reason in unread(tmp_path)[name]
    assert read(tmp_path) == {"good.txt": "good"}


def test_a_row_without_text_and_a_broken_end_are_named_and_the_other_rows_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "one"}\n{"title": "two"}\n{"text": "three"}\n{"text": "four"\n')
    assert read(tmp_path) == {"rows.jsonl#0": "one", "rows.jsonl#2": "three"}
    reasons = unread(tmp_path)
    assert reasons["rows.jsonl#1"].startswith("no text in it") and "broken JSON" in reasons["rows.jsonl"]


def test_links_that_are_not_followed_are_named_and_hidden_files_and_office_locks_are_not(tmp_path: Path) -> None:
    for name in (".git/config.txt", "~$open.docx", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing.txt")
    assert read(tmp_path) == {"a.txt": "one"}
    assert list(unread(tmp_path)) == ["again", "gone.txt"]


@pytest.mark.parametrize("make", [lambda folder: folder / "no", lambda folder: folder])
def test_a_folder_without_documents_is_an_error(tmp_path: Path, make: object) -> None:
    with pytest.raises(DatasetError, match=r"no such file or folder|no documents here. Expected files with one of"):
        list(read_documents([make(tmp_path)]))  # type: ignore[operator]


def test_documents_of_the_same_name_stay_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"the text of {name}", encoding="utf-8")
    found = list(read_documents([tmp_path / "a", tmp_path / "b"]))
    assert [entry.id for entry in found] == ["README.md", "README.md (2)"]
