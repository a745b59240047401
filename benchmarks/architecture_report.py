"""The findings of `benchmarks.architectures` as Markdown."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.architecture_checks import NEW_TOKENS, QUESTIONS, TOLERANCE
from benchmarks.report import origin, table
from tools.architectures import ARCHITECTURES

Row = Mapping[str, Any]
HEADER = f"""# Architectures

Written by `python -m benchmarks.architectures`. Each row of `tools/architectures.py` is a model with random weights in
float32 and {{layers}}, saved as a folder, loaded by our engine (`engine: transformers`) and asked {len(QUESTIONS)} of
the 48 questions of `tools/requests48.jsonl` under their grammars, at most {NEW_TOKENS} chosen tokens an answer. The
prompts have 107 to 247 tokens, more than every window; some begin with the same tokens.

- **path**: packed, or in padded batches (plain), which takes several times the CPU time; why it is not packed.
- **equal to the model alone**: answers that are, token for token, those of a loop without batch, padding and cache: for
  each choice the model reads all tokens again.
- **batches of 1 and 16 equal**: answers with the same tokens in batches of both sizes.
- **complete**: answers that obey their schema.
- **difference**: the largest of a log probability, for the first choice of each answer, in a batch of 16, from that of
  the model alone. Up to {TOLERANCE:g} is rounding; what a row sees changes it by about 10.
"""
LAYERS = "3 layers (4 of Nemotron-H)"
COLUMNS = (
    "architecture | model_type | special | loads | path | equal to the model alone | batches of 1 and 16 equal | "
    "complete | difference | why it is not packed, or does not load"
).split(" | ")
LEFT_OUT = """
Nemotron-H: an answer may differ from that of the model alone, but not between batches. transformers' own cache changes
its log probabilities by up to 0.02, in float64, too.

## Left out

No architecture of a judge that people run is known to be missing. Not tried:

- Gemma 3n with its parts for images and sounds (`Gemma3nForConditionalGeneration`), which need the package timm.
- DBRX and Cohere Compass (their tiny forms cannot be loaded again or made), Inkling (its tiny form takes minutes),
  CPM-Ant, dots3, GPT-NeoX Japanese, Phi-4-multimodal, Zamba 1, the assistant models of Gemma 4, and most models of
  text and images, whose text is one of the architectures above.
- Models that read bytes or codes in place of tokens (BLT, Emu3), that write sounds (Moshi, MusicGen), encoders with a
  head for the next token (BERT, RoBERTa), which the judge refuses, and the decoders of translation models (BART).
"""


def render(about: Mapping[str, Any]) -> str:
    """benchmarks/architectures.md."""
    rows: Mapping[str, Row] = about["rows"]
    lines = [_line(name, row) for name, row in rows.items()]
    parts = [HEADER.format(layers=LAYERS), f"{origin(about)} transformers {about['transformers']}.\n", totals(rows)]
    return "\n".join([*parts, "", table(COLUMNS, lines), LEFT_OUT])


def totals(rows: Mapping[str, Row]) -> str:
    """How many architectures, and how many of them by path and fault."""
    ways = [row["way"] for row in rows.values()]
    counts = f"{len(rows)} architectures: {ways.count('packed')} packed, {ways.count('plain')} plain, "
    lines = [f"**{counts}{ways.count('refused')} not loading.**", ""]
    lines += [_named("Not loading", (name for name, row in rows.items() if row["way"] == "refused"))]
    lines += [_named("Unequal tokens", (name for name, row in rows.items() if _unequal(row)))]
    lines += [_named("Errors after loading", (name for name, row in rows.items() if row["error"]))]
    lines += [_named("Each row decoded alone", (name for name, row in rows.items() if row["rows_alone"]))]
    return "\n".join(lines)


def _named(title: str, names: Iterable[str]) -> str:
    listed = list(names)
    return f"- {title}: {len(listed)}{' (' + ', '.join(listed) + ')' if listed else ''}."


def _unequal(row: Row) -> bool:
    return bool(row["unequal"] or row["batch_unequal"] or row["difference"] > TOLERANCE)


def _line(name: str, row: Row) -> list[str]:
    special = ARCHITECTURES[name].about if name in ARCHITECTURES else ""
    why = "; ".join(filter(None, (row["why"], row["rows_alone"], row["error"])))
    about = [name, row["model_type"], special]
    if row["way"] == "refused":
        return [*about, "no", "", "", "", "", "", _cell(why)]
    asked = row["asked"]
    equal, same = (_share(asked - len(row[part]), asked) for part in ("unequal", "batch_unequal"))
    difference = f"{row['difference']:.0e}"
    return [*about, "yes", row["way"], equal, same, _share(row["complete"], asked), difference, _cell(why)]


def _share(count: int, asked: int) -> str:
    return "yes" if count == asked > 0 else f"no: {count} of {asked}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
