from pathlib import Path

import pytest

from rag_evaluator.files import file_digest, short_digest

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1


@pytest.mark.parametrize("content", ["abc", b"abc", [b"a", b"", b"bc"], iter([b"abc"])])
def test_a_text_its_bytes_and_their_parts_have_one_digest(content: str | bytes | list[bytes]) -> None:
    assert short_digest(content) == ABC[:16]


def test_a_file_has_the_whole_digest_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc") == ABC
