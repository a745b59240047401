"""Measures of information retrieval, computed by `ir_measures`."""

from collections.abc import Collection, Sequence


def measured(order: Sequence[int], relevance: Sequence[int], names: Collection[str]) -> dict[str, float]:
    """Measures by their names in `ir_measures` (`nDCG@10`, `P@5`, `AP`, `RR`) of an order of documents, best first.

    Args:
        order: positions in `relevance`; a document that is in no place of the order was not retrieved.
        relevance: grade of each document, 0 not relevant.

    0 where nothing was retrieved or nothing is relevant. `ir_measures` ranks by scores, equal ones by document id: the
    scores here are strictly descending, made from the order.
    """
    import ir_measures

    measures = {name: ir_measures.parse_measure(name) for name in names}
    qrels = [ir_measures.Qrel("q", str(item), grade) for item, grade in enumerate(relevance)]
    run = [ir_measures.ScoredDoc("q", str(item), float(-rank)) for rank, item in enumerate(order)]
    values = ir_measures.calc_aggregate(measures.values(), qrels, run) if order else {}
    return {name: float(values.get(measure, 0.0)) for name, measure in measures.items()}
