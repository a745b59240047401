"""A decoding step of packed rows does not much more than the model's own, counted by torch's profiler."""

import pytest

from benchmarks.gpu import operations

MORE = 14  # operations a layer: attention to prefix and tails, and their merging


@pytest.mark.models
def test_a_layer_of_packed_rows_has_few_more_operations_than_transformers_own() -> None:
    counted = {(kind, way): (int(layer), int(beside)) for kind, way, layer, beside in operations()}
    assert len(counted) == 4
    for kind in ("float32", "bfloat16"):
        assert counted[kind, "our engine"][0] <= counted[kind, "transformers' own"][0] + MORE
