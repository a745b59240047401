from rag_evaluator.results import input_values, refer, references

CONTEXTS = {"user_input": "q", "retrieved_contexts": ["a", "b"]}
PLACES = {
    "q": {"column": "user_input"},
    "a": {"column": "retrieved_contexts", "item": 0},
    "b": {"column": "retrieved_contexts", "item": 1},
    "a\nb": {"column": "retrieved_contexts", "items": 2, "joined": "\n"},
    "1. a\n\n2. b": {"column": "retrieved_contexts", "items": 2, "numbered": True},
}


def test_only_texts_are_referred_to() -> None:
    others = {"answerable": True, "number": 7, "document_score": [0.5, 1.0], "mixed": ["a", 1], "nothing": None}
    assert references({**others, "nested": {"score1_description": ["a"]}, **CONTEXTS}) == PLACES


def test_an_object_of_texts_is_referred_to_as_a_whole() -> None:
    columns = {**CONTEXTS, "rubrics": {"score1_description": "bad", "score2_description": "good"}}
    known = references(columns)
    assert refer({"rubrics": dict(columns["rubrics"])}, known, []) == {"rubrics": {"column": "rubrics"}}
    other = dict(reversed(columns["rubrics"].items()))  # another order is another text
    assert refer({"rubrics": other}, known, []) == {"rubrics": {"literal": other}}


def test_an_input_with_other_values_is_put_together_again() -> None:
    columns = {**CONTEXTS, "answerable": False, "document_score": [0.5, 1.0], "rubrics": {"score1_description": "a"}}
    values = {"context": "a\nb", **columns}
    referred = refer(values, references(columns), [])
    assert referred["context"] == PLACES["a\nb"]
    assert input_values(referred, columns, []) == values
