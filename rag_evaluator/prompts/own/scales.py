"""What prompts of our own share: scales of answers that can be checked, and the small world of their examples."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, TypeAdapter, WithJsonSchema

FILM = "The film 'Red Harbour' was shot in Lisbon in 1998 and directed by Ana Melo."
MUSIC = "Its music was written by Tomas Reed, who won a prize for it in 1999."
BRIDGE = "The bridge of Arlen is 412 metres long."
READ = BeforeValidator(TypeAdapter(int).validate_python)
"""Reads `"1"` as 1, which LLMs write and the integers of ragas' models accept; a bare `Literal` does not."""
SHOWN = WithJsonSchema({"type": "integer"}, mode="validation")
"""The prompt shows the schema of `validation`: a plain integer, as in ragas' prompts. `tighten` reads the scale."""
Verdict = Annotated[Literal[0, 1], READ, SHOWN]
Choice = Annotated[Literal[1, 2], READ, SHOWN]
