"""What the probes make of rows: changed by hand-checked rules, seeded, certain or left out."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from probed_rows import changed_rows, letters, normalised

DATA: Mapping[str, list[tuple[str, str, str, str]]] = {
    "english": [
        ("Where was Lira born?", "She was born in Tesk.", "The engineer Lira Vosk was born in Tesk in 1921.", "1921"),
        ("How high is Selo?", "It has 812 metres.", "Near Pardo the summit of Mount Selo has 812 metres.", "812"),
        ("Who built the bridge?", "Dana Mirol built it.", "The bridge was built by Dana Mirol in 1954.", "1954"),
        ("How many live there?", "There are 440 people.", "In the town of Orman there are 440 people.", "440"),
    ],
    "german": [
        ("Wo lebte Lira?", "Sie lebte in New Holland.", "Die Frau Lira Vosk lebte 1921 in New Holland.", "1921"),
        ("Wie hoch ist er?", "Er hat 812 Meter.", "Der Berg am See hat 812 Meter.", "812"),
        ("Wer war es?", "Das war Dana Mirol.", "Gebaut hat das 1954 die Frau Dana Mirol.", "1954"),
        ("Wie viele?", "Dort leben 440 Menschen.", "Im Dorf am Fluss leben 440 Menschen.", "440"),
    ],
    "chinese": [
        ("莉拉出生在哪里？", "她1921年出生。", "工程师莉拉在特斯克出生，那是1921年。", "1921"),
        ("塞洛山有多高？", "有812米。", "塞洛山高812米。", "812"),
        ("谁写的？", "是达娜写的《大桥之歌》。", "达娜在1954年写了《大桥之歌》。", "1954"),
        ("有多少人？", "有440人读过《小河之书》。", "村里有440人读过《小河之书》。", "440"),
    ],
    "arabic": [
        ("متى ولدت ليرا؟", "ولدت عام ١٩٢١.", "ولدت المهندسة ليرا في تسك عام ١٩٢١.", "١٩٢١"),
        ("ما ارتفاع الجبل؟", "ارتفاعه 812 مترا.", "يبلغ ارتفاع جبل سيلو 812 مترا.", "812"),
        ("متى بني الجسر؟", "بني عام ١٩٥٤.", "بنت دانا الجسر عام ١٩٥٤ في القرية.", "١٩٥٤"),
        ("كم عدد السكان؟", "هناك 440 شخصا.", "يعيش في القرية 440 شخصا.", "440"),
    ],
}
REMARKS = {
    "english": "The river is long and calm.",
    "german": "Der Fluss ist lang und ruhig.",
    "chinese": "河流又长又平静。",
    "arabic": "النهر طويل وهادئ.",
}
LANGUAGES = list(DATA)


def rows_in(language: str) -> list[Json]:
    """Rows of which each has a context with the answer, and one without, in a text of its own."""
    return [
        {
            "user_input": question,
            "retrieved_contexts": [context, f"{REMARKS[language]} {chr(ord('A') + number)}{number + 3}x"],
            "response": f"{answer} ",
            "reference": answer,
            "reference_contexts": [context],
        }
        for number, (question, answer, context, _) in enumerate(DATA[language])
    ]


Lines = list[Json]


def of(lines: Lines, probe: str) -> Lines:
    return [line for line in lines if line["probe"] == probe]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lines]:
    """What the probes make of the rows of each language."""
    return {name: changed_rows(tmp_path_factory.mktemp(name), rows_in(name), name) for name in LANGUAGES}


def texts_of(language: str, line: Mapping[str, Any]) -> str:
    """All texts of the row that was changed."""
    question, answer, context, _ = DATA[language][line["row"]]
    return "\n".join([question, answer, context, REMARKS[language]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_changed_number_is_one_of_the_dataset_that_the_row_does_not_know(
    language: str, made: dict[str, Lines]
) -> None:
    lines = of(made[language], "changed_number")
    assert len(lines) >= 2
    known = {number for *_, number in DATA[language]}
    for line in lines:
        good = line["good"]["response"]
        bad = line["changed"]["response"]
        [new] = [number for number in known if number in bad and number not in good]
        assert new not in texts_of(language, line)
        [old] = [number for number in known if number in good]
        assert bad == good.replace(old, new)


@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("english", {"Tesk", "Pardo", "Orman", "Dana Mirol", "Lira Vosk", "Mount Selo"}),
        ("german", {"New Holland", "Dana Mirol", "Frau Lira Vosk", "Lira Vosk"}),
        ("chinese", {"大桥之歌", "小河之书"}),
    ],
)
def test_a_changed_name_is_one_of_the_dataset_that_the_row_does_not_know(
    language: str, names: set[str], made: dict[str, Lines]
) -> None:
    lines = of(made[language], "changed_name")
    assert lines
    for line in lines:
        new = next(name for name in sorted(names, key=len, reverse=True) if name in line["changed"]["response"])
        assert new not in texts_of(language, line)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_contradiction_is_a_context_sentence_with_another_number_or_name(
    language: str, made: dict[str, Lines]
) -> None:
    lines = of(made[language], "contradiction")
    assert lines
    for line in lines:
        good = line["good"]["response"]
        bad = line["changed"]["response"]
        assert bad.startswith(good)
        added = bad.removeprefix(good).strip()
        context = DATA[language][line["row"]][2]
        assert normalised(added) != normalised(context)
        same = sum(first == second for first, second in zip(added, context, strict=False))
        assert same > 3 or added[-5:] == context[-5:]


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_answers_and_contexts_are_those_of_rows_that_do_not_help(language: str, made: dict[str, Lines]) -> None:
    answers = of(made[language], "other_answer")
    contexts = of(made[language], "other_contexts")
    assert answers and contexts
    for line in answers:
        assert line["changed"]["response"] in [answer for _, answer, *_ in DATA[language]]
        assert line["changed"]["response"] != line["good"]["response"]
    for line in contexts:
        others = line["changed"]["retrieved_contexts"]
        assert not any(letters(DATA[language][line["row"]][1]) in letters(text) for text in others)
        assert not set(others) & set(line["good"]["retrieved_contexts"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_expected_contexts_come_last_and_controls_say_the_same(language: str, made: dict[str, Lines]) -> None:
    lines = made[language]
    assert of(lines, "dropped_context")
    for line in of(lines, "dropped_context"):  # the context with the reference is the first
        assert line["changed"]["retrieved_contexts"] == line["good"]["retrieved_contexts"][1:]
    for line in of(lines, "shuffled_contexts"):
        assert line["changed"]["retrieved_contexts"] == line["good"]["retrieved_contexts"][::-1]
    for line in of(lines, "same_text"):
        assert letters(line["changed"]["response"]) == letters(line["good"]["response"])
        assert line["changed"]["response"] != line["good"]["response"]
    for line in of(lines, "longer"):
        assert letters(line["changed"]["response"]) == 2 * letters(line["good"]["response"])
    assert [len(of(lines, probe)) for probe in ("shuffled_contexts", "same_text", "longer", "evasive")] == [4] * 4


def test_the_choice_is_the_same_for_any_order_of_rows_and_another_for_another_seed(tmp_path: Path) -> None:
    rows = [{**row, "user_input": f"{row['user_input']} {number}"} for number in range(8) for row in rows_in("english")]
    shuffled = random.Random(5).sample(rows, len(rows))

    def found(name: str, rows: list[Json], seed: int) -> list[str]:
        lines = changed_rows(tmp_path / name, rows, "english", seed, size=6)
        return sorted(f"{line['question']}|{line['probe']}|{line['changed']}" for line in lines)

    assert found("a", rows, 0) == found("b", shuffled, 0)
    assert found("a", rows, 0) != found("c", rows, 1)


def test_rows_with_the_same_question_do_not_lend_each_other_answers_and_contexts(tmp_path: Path) -> None:
    rows = [{**row, "user_input": "One question?"} for row in rows_in("english")]
    probes = {line["probe"] for line in changed_rows(tmp_path, rows)}
    assert probes.isdisjoint({"other_answer", "other_contexts"})


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "Where?", "response": "In Tesk."},
        {"response": "In Tesk."},
        {"user_input": "Where?", "response": "…", "reference": "।"},
    ],
)
def test_a_row_gets_the_probes_that_its_columns_allow(row: Json, tmp_path: Path) -> None:
    assert {line["probe"] for line in changed_rows(tmp_path, [row])} == {"evasive", "same_text", "longer"}


@pytest.mark.parametrize(
    "response",
    ["It is not in Tesk.", "Was it in Tesk?", "It was in Tesk or Selo.", "It holds more than 812 people."],
)
def test_what_may_hold_of_something_else_is_not_changed(response: str, tmp_path: Path) -> None:
    rows = [{**rows_in("english")[0], "reference": response}, *rows_in("english")[1:]]
    probes = {line["probe"] for line in changed_rows(tmp_path, rows) if line["row"] == 0}
    assert probes.isdisjoint({"changed_name", "changed_number"})


def test_a_context_is_dropped_only_if_it_alone_helps(tmp_path: Path) -> None:
    row, *others = rows_in("english")
    both = {**row, "retrieved_contexts": [row["retrieved_contexts"][0], "People say: she was born in Tesk."]}
    written_freely = {**row, "reference": "The engineer was born in a place called Tesk."}
    for name, first, is_dropped in (("both", both, False), ("freely", written_freely, True)):
        lines = of(changed_rows(tmp_path / name, [first, *others]), "dropped_context")
        assert (lines[0]["row"] == 0) == is_dropped


def test_an_evasive_answer_is_known_in_every_language_of_the_packs(tmp_path: Path) -> None:
    packs = {"arabic", "chinese", "english", "french", "german", "hindi", "italian", "japanese", "korean"}
    texts = set()
    for language in {*packs, "portuguese", "spanish"}:
        [line] = of(changed_rows(tmp_path / language, rows_in("english")[:1], language), "evasive")
        texts.add(line["changed"]["response"])
    assert len(texts) == 11
    assert not of(changed_rows(tmp_path / "swahili", rows_in("english")[:1], "swahili"), "evasive")


@pytest.mark.parametrize(
    ("first", "second", "is_near"),
    [("1980", "1989", True), ("1980", "1990", False), ("30", "28", True), ("3,450", "3,500", True)],
)
def test_a_number_that_may_be_the_same_rounded_replaces_none(
    first: str, second: str, is_near: bool, tmp_path: Path
) -> None:
    rows = [
        {"user_input": f"{word}?", "response": f"It has {number} {word}.", "retrieved_contexts": [f"It is {word}."]}
        for word, number in (("towers", first), ("gates", second))
    ]
    assert bool(of(changed_rows(tmp_path, rows), "changed_number")) is not is_near
