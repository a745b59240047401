"""Which sequences may be decoded in one batch, so that none changes another's answer."""

from collections import abc


def parts_of(lengths: abc.Sequence[tuple[int, int]], window: int, switch: int | None) -> list[list[int]]:
    """Indices of sequences, in parts in which no sequence changes another's answer.

    A sequence may go on until the longest answer of its part is complete, so none may pass the model's window then, nor
    the length at which its rope changes. Those that are longer from the start stay together; one that reaches this
    length while it is written is decoded alone.

    Args:
        lengths: tokens of prompt and answer of each sequence.
        window: tokens of prompt and answer together that the model can read.
        switch: see `rope_switch`.
    """
    indices = list(range(len(lengths)))
    if switch is None:
        return _within(indices, lengths, window)
    past = [index for index in indices if lengths[index][0] > switch]
    before = [index for index in indices if lengths[index][0] <= switch]
    limit = min(window, switch + 1)  # the last token is written, but not read
    return _within(past, lengths, window) + _within(before, lengths, limit)


def _within(indices: list[int], lengths: abc.Sequence[tuple[int, int]], limit: int) -> list[list[int]]:
    """Indices in parts in which each prompt and the longest answer of the part stay within a limit, or alone."""
    if len(indices) < 2:
        return [indices] if indices else []
    longest = max(lengths[index][1] for index in indices)
    tight = [index for index in indices if lengths[index][0] + longest > limit]
    if not tight:
        return [indices]
    loose = [index for index in indices if index not in tight]
    first, second = (loose, tight) if loose else (indices[: len(indices) // 2], indices[len(indices) // 2 :])
    return _within(first, lengths, limit) + _within(second, lengths, limit)
