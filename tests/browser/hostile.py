"""Texts that are no harm as text, and great harm as anything else; each sets `window.__hacked` if it comes to life."""

import json
from pathlib import Path
from typing import Any

from rag_evaluator.files import file_digest

SURROGATE_MARK = "[half a pair]"  # becomes \ud83d in the files: the program's own writers refuse it
SURROGATE = "\\ud83d"
HOSTILE = {
    "image": "<img src=x onerror=\"window.__hacked='image'\">",
    "script": "<script>window.__hacked='script'</script>",
    "closing": "</script></style></title></textarea></template><script>window.__hacked='closing'</script>",
    "svg": '<svg onload="window.__hacked=\'svg\'"><a xlink:href="javascript:alert(1)">x</a></svg>',
    "comment": "<!-- <script> ]]> -->  <![CDATA[ x ]]> <!--<script>",
    "attribute": "\" onmouseover=\"window.__hacked='attribute'\" ' onfocus='window.__hacked=1' autofocus x=\"",
    "link": "javascript:window.__hacked='link' [x](javascript:alert(1)) https://evil.example/",
    "frame": "<iframe srcdoc=\"<script>parent.__hacked='frame'</script>\"></iframe><base href=//evil.example>",
    "style": "<style>body{display:none}</style><link rel=stylesheet href=//evil.example/a.css>",
    "meta": '<meta http-equiv=refresh content="0;url=//evil.example/"><form action=//evil.example/><button>go</button>',
    "template": "{{ 7*7 }} {% raw %} ${window.__hacked=1} `${alert(1)}` <%= 1 %>",
    "entities": "&lt;script&gt;window.__hacked=1&lt;/script&gt; &amp;amp; &#x3C;b&#x3E;",
    "overrides": "abc\u202edef\u202c \u2066ghi\u2069 \u200f\u061c jkl",
    "controls": "nul\x00 bell\x07 escape\x1b[31m delete\x7f vertical\x0b line\u2028 paragraph\u2029 bom\ufeff",
    "surrogate": f"half {SURROGATE_MARK} of a pair",
    "proto": "__proto__ constructor toString hasOwnProperty",
    "hash": "#row=1&metric=faithfulness&min=0%00 %3Cscript%3E ?token=x ../../../etc/passwd",
    "noncharacters": "\ufffe \uffff \U0010ffff \ufdd0",
}


def with_surrogates(folder: Path) -> Path:
    """Puts half a surrogate pair into the JSON files, as another program may have written them, with their digest."""
    scores = folder / "scores.jsonl"
    manifest = folder / "manifest.json"
    before = file_digest(scores)
    for path in folder.iterdir():
        if path.suffix in (".json", ".jsonl"):
            path.write_bytes(path.read_bytes().replace(SURROGATE_MARK.encode(), SURROGATE.encode()))
            _check(path)
    manifest.write_text(manifest.read_text("utf-8").replace(before, file_digest(scores)), "utf-8")
    return folder


def _check(path: Path) -> None:
    lines: list[Any] = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    for line in lines:
        json.loads(line)
