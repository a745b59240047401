"""Verdicts on rules as a JUnit file, which CI services show as tests."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rag_evaluator.files.atomic import write_whole
from rag_evaluator.results.manifest import PROGRAM
from rag_evaluator.trust.gate import Verdict

MARK = b'<testsuites name="rag_evaluator"'  # how the file begins: pytest and others write JUnit files, too
NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(verdicts: Sequence[Verdict], suite: str, path: Path) -> None:
    """One test case per rule; `suite` names the run. Raises `ResultsError` if the file cannot be written."""
    failures = sum(not verdict.passed for verdict in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": PROGRAM, **counts})
    cases = ElementTree.SubElement(root, "testsuite", {"name": _xml(suite), **counts})
    for verdict in verdicts:
        case = ElementTree.SubElement(cases, "testcase", {"classname": _xml(suite), "name": _xml(str(verdict.rule))})
        if verdict.passed:
            ElementTree.SubElement(case, "system-out").text = _xml(verdict.reason)
        else:
            ElementTree.SubElement(case, "failure", {"message": _xml(verdict.reason)}).text = _xml(str(verdict))
    ElementTree.indent(root)
    write_whole(path, lambda to: ElementTree.ElementTree(root).write(to, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return NOT_XML.sub("�", text)
