"""What `manifest.json` and `summary.json` hold, for those who read them: somebody may have edited or damaged them."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt, TypeAdapter, ValidationError

from rag_evaluator.trust.scale import Better, Kind

# Any in this module: JSON.

Figure = FiniteFloat | None
Part = Annotated[dict[str, Any], Field(default_factory=dict)]


class _Shape(BaseModel):
    """Other keys may hold anything."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Metric(_Shape):
    range: Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]
    kind: Kind = "judged"
    better: Better = "higher"
    stage: str | None = None
    threshold: Figure = None


class _Config(_Shape):
    dataset: str | None = None
    language: str | None = None
    columns: dict[str, str] | None = None
    judge: dict[str, Any] | None = None
    judges: list[dict[str, Any]] | None = None
    embeddings: dict[str, Any] | None = None
    retrieval: dict[str, Any] | None = None
    group_by: list[str] | None = None
    cluster: str | None = None
    weight: str | None = None
    ci_level: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = None


class _Panel(_Shape):
    judges: Part


class _Manifest(_Shape):
    name: str | None = None
    rows: NonNegativeInt | None = None
    part: Part
    signatures: Annotated[dict[str, str], Field(default_factory=dict)]
    metrics: Annotated[dict[str, _Metric], Field(default_factory=dict)]
    config: _Config = _Config()
    prompts: Part
    versions: Part
    panel: _Panel = _Panel(judges={})


class _Figures(_Shape):
    mean: Figure
    ci_low: Figure = None
    ci_high: Figure = None
    ci_warning: str | None = None
    bound_low: Figure = None
    bound_high: Figure = None
    median: Figure = None
    std: Figure = None
    scored: NonNegativeInt
    count: NonNegativeInt
    reasons: dict[str, NonNegativeInt]
    outcomes: Annotated[dict[str, NonNegativeInt], Field(default_factory=dict)]
    pass_rate: dict[str, Figure | str] | None = None


class _MetricFigures(_Figures):
    stage: str | None = None
    groups: Annotated[dict[str, dict[str, _Figures]], Field(default_factory=dict)]
    panel: Part
    labels: Part


_SUMMARY = TypeAdapter(Annotated[dict[str, _MetricFigures], Field(min_length=1)])


def check_manifest(manifest: Any) -> None:
    """Raises `ValueError` for a manifest that nobody can read, naming the key."""
    _check(TypeAdapter(_Manifest), manifest)


def check_summary(summary: Any) -> None:
    """Raises `ValueError` for a summary that nobody can read, naming the key."""
    _check(_SUMMARY, summary)
    for metric, row in summary.items():
        if (row.get("ci_low") is None) != (row.get("ci_high") is None):
            raise ValueError(f"{metric}: one of ci_low and ci_high is missing")


def check_fit(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Raises `ValueError` for a summary of other metrics, or of more or fewer rows, than the manifest names."""
    metrics, rows = manifest.get("metrics"), manifest.get("rows")
    if metrics and set(metrics) != set(summary):
        raise ValueError(f"it has the metrics {', '.join(summary)}; manifest.json has {', '.join(metrics)}")
    for metric, row in summary.items():
        if rows is not None and row["count"] != rows:
            raise ValueError(f"{metric}: it counts {row['count']:,} rows; manifest.json has {rows:,}")


def _check(adapter: "TypeAdapter[Any]", value: Any) -> None:
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        received = repr(first["input"])[:60]
        raise ValueError(f"{f'{place}: ' if place else ''}{first['msg']}, received {received}") from None
