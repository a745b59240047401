"""Generated rows, seeded: invented people, places and works, three contexts each."""

import random
from typing import Any

SYLLABLES = "ba cor dre fen gal hu jin kel lom mir nor pas quel ras sto tam".split()
FACTS = (
    ("Where was {0} born?", "{0} was born in {1}.", "place"),
    ("Who built the {0} bridge?", "The {0} bridge was built by {1}.", "person"),
    ("In which year did {0} open the school?", "{0} opened the school in {1}.", "year"),
    ("Which city is the capital of {0}?", "The capital of {0} is {1}.", "place"),
)


def make_rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`count` rows with every column the benchmarked metrics need; equal seeds give equal rows."""
    rng = random.Random(seed)
    return [_row(rng) for _ in range(count)]


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3))).capitalize()


def _row(rng: random.Random) -> dict[str, Any]:
    question, sentence, kind = rng.choice(FACTS)
    subject = _name(rng)
    right, wrong = (str(rng.randint(1500, 2020)) if kind == "year" else _name(rng) for _ in range(2))
    told = right if rng.random() < 0.5 else wrong
    contexts = [f"{sentence.format(subject, right)} {_filler(rng)}", _filler(rng), _filler(rng)]
    return {
        "user_input": question.format(subject),
        "retrieved_contexts": rng.sample(contexts, k=3),
        "response": sentence.format(subject, told),
        "reference": sentence.format(subject, right),
    }


def _filler(rng: random.Random) -> str:
    return " ".join(fact.format(_name(rng), _name(rng)) for _, fact, _ in rng.choices(FACTS, k=rng.randint(3, 6)))
