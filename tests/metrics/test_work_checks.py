"""Without labels, texts that a metric counts are compared with the row and with the examples of the prompt."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import category, normalize
from unicodedata import name as name_of

import pytest
from folders import lines_of
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator import BudgetError, RAGEvaluator, ScriptedJudge, compare, gate

EINSTEIN = "Albert Einstein was a German-born theoretical physicist."
COPIED = "the judge repeats the example of its prompt"
TWICE = "the judge gave the same statement both verdicts"
OWN = "Nolu Brak was born in Tesk."
ROW = {
    "user_input": "Where was Nolu Brak born, and where did he live later?",
    "response": "Nolu Brak was born in Tesk and later moved to the city of Om.",
    "retrieved_contexts": [OWN],
    "reference": f"{OWN} Later he moved to the city of Om.",
}
Answers = Mapping[str, Any]  # response model -> answer of the judge


def faithfulness(statements: Sequence[str], verdicts: Sequence[int] = ()) -> Answers:
    given = verdicts or [1] * len(statements)
    judged = [{"statement": text, "reason": "r", "verdict": v} for text, v in zip(statements, given, strict=True)]
    return {"StatementGeneratorOutput": {"statements": list(statements)}, "NLIStatementOutput": {"statements": judged}}


def evaluate(metric: str, answers: Answers, row: Mapping[str, Any] = ROW, **config: Any) -> Any:
    return RAGEvaluator({"metrics": [metric], **config}, ScriptedJudge(answers), "demo").evaluate([row])


@pytest.mark.parametrize(
    ("metric", "answers", "flags", "reason"),
    [
        ("faithfulness", faithfulness([OWN, "Nolu Brak later moved to the city of Om."]), [], None),
        ("faithfulness", faithfulness([EINSTEIN]), ["copied", "foreign", "incomplete"], COPIED),
        ("faithfulness", faithfulness([OWN, ROW["response"], EINSTEIN]), ["copied", "foreign"], COPIED),
        ("faithfulness", faithfulness([OWN, OWN, ROW["response"]], [1, 0, 1]), ["contradictory", "repeated"], TWICE),
        ("faithfulness", faithfulness([OWN, "nolu brak WAS born in Tesk", ROW["response"]]), ["repeated"], None),
        ("faithfulness", faithfulness(["Nolu Brak was born"]), ["fragment", "incomplete"], None),
        (
            "faithfulness",
            faithfulness(["The generated statements follow below, as they were asked for."]),
            ["foreign", "incomplete"],
            "the judge wrote nothing about this row",
        ),
        (
            "answer_relevancy",
            {"AnswerRelevanceOutput": {"question": "Where was Albert Einstein born?", "noncommittal": 0}},
            ["copied"],
            COPIED,
        ),
        ("context_entity_recall", {"EntitiesList": {"entities": ["Tesk", "Nolu Brak"]}}, [], None),
        (
            "context_entity_recall",
            {"EntitiesList": {"entities": ["Tesk", "Eiffel Tower"]}},
            ["copied", "foreign"],
            COPIED,
        ),
        ("context_entity_recall", {"EntitiesList": {"entities": ["Tesk", "Paris, Texas"]}}, ["foreign"], None),
    ],
)
def test_flags_and_scores_of_what_a_judge_wrote(
    metric: str, answers: Answers, flags: list[str], reason: str | None
) -> None:
    [score] = evaluate(metric, answers).scores[metric]
    assert sorted(score.flags) == flags
    assert (score.reason, score.missing) == (reason, reason is not None)


ASKED = [OWN, "Later he moved to the city of Om.", "It is 15 degrees in Tesk.", "It is 5 degrees in Tesk."]
SAID = [1, 1, 0, 1]
JOHN = ["John is majoring in Biology.", "John is a dedicated student."]  # of the example of the prompt


def verdicts(texts: Sequence[str], given: Sequence[int]) -> list[dict[str, Any]]:
    return [{"statement": text, "reason": "r", "verdict": verdict} for text, verdict in zip(texts, given, strict=True)]


@pytest.mark.parametrize(
    ("texts", "given"),
    [
        (ASKED, SAID),
        (ASKED[::-1], SAID[::-1]),
        ([f"{number}. {text.upper()}" for number, text in enumerate(ASKED, 1)], SAID),
        ([f' "{text.removesuffix(".")}"  ' for text in ASKED[::-1]], SAID[::-1]),
        (["He was born in Tesk", "He later moved to Om", "15 degrees in Tesk", "5 degrees in Tesk"], SAID),
    ],
    ids=["equal", "in another order", "as a list", "as quotations", "in other words"],
)
def test_verdicts_belong_to_the_statements_that_were_asked(texts: list[str], given: list[int]) -> None:
    script = {**faithfulness(ASKED), "NLIStatementOutput": {"statements": verdicts(texts, given)}}
    [score] = evaluate("faithfulness", script).scores["faithfulness"]
    said = score.judgements[-1]["response"]["statements"]
    assert [(item["statement"], item["verdict"]) for item in said] == list(zip(ASKED, SAID, strict=True))
    assert (score.value, "unasked" in score.flags) == (0.75, False)


def classified(**lists: list[str]) -> Answers:
    said = {name: [{"statement": text, "reason": "r"} for text in texts] for name, texts in lists.items()}
    return {"StatementGeneratorOutput": {"statements": [*ASKED[:2]]}, "ClassificationWithReason": said}


def recalled(*texts: str) -> Answers:
    said = [{"statement": text, "reason": "r", "attributed": 1} for text in texts]
    return {"ContextRecallOutput": {"classifications": said}}


LONG = {**ROW, "reference": f"{ROW['response']} The town of Tesk has had a mill on the river since 1430."}


@pytest.mark.parametrize(
    ("metric", "script", "unasked"),
    [
        ("faithfulness", (ASKED[:2], JOHN), [*JOHN, *ASKED[:2]]),
        ("faithfulness", (ASKED[:2], [OWN, JOHN[0]]), [JOHN[0], ASKED[1]]),
        ("faithfulness", (ASKED[:2], [OWN]), [ASKED[1]]),
        ("faithfulness", (ASKED[:2], [*ASKED[:2], JOHN[0]]), [JOHN[0]]),
        ("faithfulness", (ASKED[:2], [""] * 2), ["", *ASKED[:2]]),
        ("noise_sensitivity", (ASKED[:2], [OWN]), [ASKED[1]]),
        ("answer_correctness", classified(TP=[OWN], FP=[], FN=[]), [ASKED[1]]),
        ("answer_correctness", classified(TP=ASKED[:2], FP=[], FN=[JOHN[0]]), [JOHN[0]]),
        ("answer_correctness", classified(TP=[OWN], FP=[ASKED[1].upper()], FN=[]), []),
        ("context_recall", recalled(ROW["response"]), [LONG["reference"].rpartition("Om. ")[2]]),
        ("context_recall", recalled(OWN, "He later moved to Om", "A mill has been on Tesk's river since 1430"), []),
    ],
)
def test_a_verdict_on_what_was_not_asked_is_no_score(metric: str, script: Any, unasked: list[str]) -> None:
    if isinstance(script, tuple):
        said = {"statements": verdicts(script[1], [1] * len(script[1]))}
        script = {**faithfulness(script[0]), "NLIStatementOutput": said, "StatementFaithfulnessOutput": said}
    [score] = evaluate(metric, script, LONG).scores[metric]
    assert score.flags.get("unasked", []) == unasked
    why = "the judge gave verdicts on other statements than it was asked" if unasked else None
    assert (score.reason, score.missing) == (why, bool(unasked))


def test_a_row_about_the_example_of_the_prompt_is_no_copy() -> None:
    row = {**ROW, "response": EINSTEIN, "retrieved_contexts": [EINSTEIN]}
    [score] = evaluate("faithfulness", faithfulness([EINSTEIN]), row).scores["faithfulness"]
    assert (score.value, dict(score.flags)) == (1.0, {})


@pytest.mark.parametrize("language", ["japanese", "korean", "hindi", "arabic"])
def test_copies_are_found_in_other_scripts(language: str) -> None:
    pack = json.loads(Path(f"prompts/{language}/faithfulness_statement_generator_prompt_{language}.json").read_bytes())
    statements = pack["examples"][0]["output"]["statements"]
    [score] = evaluate("faithfulness", faithfulness(statements), language=language).scores["faithfulness"]
    assert score.reason == COPIED
    own = pack["examples"][0]["input"]["answer"]
    row = {**ROW, "response": own, "retrieved_contexts": [own]}
    assert not evaluate("faithfulness", faithfulness([own]), row, language=language).scores["faithfulness"][0].missing


def test_without_examples_the_prompt_has_none_and_the_signature_says_so() -> None:
    judges = {}
    for shown in ("all", "none"):
        judges[shown] = ScriptedJudge(faithfulness([OWN]))
        evaluator = RAGEvaluator({"metrics": ["faithfulness"], "judge": {"examples": shown}}, judges[shown])
        results = evaluator.evaluate([ROW])
        assert ("EXAMPLES" in judges[shown].prompts[0], "Einstein" in judges[shown].prompts[0]) == (
            (shown == "all"),
        ) * 2
        judges[shown] = results.signatures["faithfulness"]
    assert judges["all"] != judges["none"]
    assert "|checks:2" in judges["all"]


def test_the_demo_judge_obeys_the_rows_sentences_in_context_recall() -> None:
    results = RAGEvaluator({"metrics": ["context_recall"]}).evaluate([ROW])
    [answer] = [judgement["response"] for judgement in results.scores["context_recall"][0].judgements]
    assert [row["statement"] for row in answer["classifications"]] == [OWN, "Later he moved to the city of Om."]


def test_flags_are_kept_in_files_and_reported_first(tmp_path: Path) -> None:
    rows = [{**ROW, "user_input": f"{ROW['user_input']} ({number})"} for number in range(12)]

    def answer(prompt: str, model: Any) -> Any:
        bad = "(3)" not in str(prompt.data.model_dump()) and model.__name__ == "StatementGeneratorOutput"
        texts = [EINSTEIN] if bad else getattr(prompt.data, "statements", [ROW["response"]])
        return faithfulness(texts)[model.__name__]

    evaluator = RAGEvaluator({"metrics": ["faithfulness"], "name": "x"}, ScriptedJudge(answer, model_id="s"))
    results = evaluator.evaluate(rows, folder=tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_bytes())["faithfulness"]
    assert (summary["mean"], summary["ci_low"], summary["coverage"]) == (None, None, 1 / 12)
    assert (summary["flagged"], summary["flags"]["copied"], summary["reasons"]) == (11, 11, {COPIED: 11})
    details = lines_of(tmp_path / "details.jsonl")
    assert details[0]["flags"]["copied"] == [EINSTEIN]
    assert "flags" not in details[3]
    assert str(results).splitlines()[0] == (
        "faithfulness has no figure: 11 of 12 rows could not be scored (in 11 the judge repeats the example of its "
        "prompt). Take a larger judge, or `groundedness` with a verifier."
    )
    assert "copied" in (tmp_path / "report.html").read_text()
    assert 'name="group:judge&#39;s work"' in (tmp_path / "report.html").read_text()


def test_many_flagged_rows_that_have_scores_get_a_sentence() -> None:
    results = evaluate("faithfulness", faithfulness(["Nolu Brak was born"]))
    assert str(results).splitlines()[2] == (
        "In 1 of 1 row the judge's work for faithfulness is doubtful (fragment 1: it ends in the middle of a "
        "sentence; incomplete 1: its statements leave out more than half of the text): read some of them."
    )


def test_rows_without_the_column_do_not_take_the_figure_away() -> None:
    rows = [ROW, *({name: value for name, value in ROW.items() if name != "reference"} for _ in range(3))]
    results = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows)
    assert results.summary()["exact_match"]["mean"] == 0.0


def test_compare_and_gate_name_another_share_of_flagged_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, statements in (
        ("a", [OWN, ROW["response"]]),
        ("b", [OWN, "nolu brak was born in tesk", ROW["response"]]),
    ):
        judge = ScriptedJudge(lambda prompt, model, texts=statements: faithfulness(texts)[model.__name__], model_id="s")
        config = {"metrics": ["faithfulness"], "output_dir": str(tmp_path), "name": name}
        RAGEvaluator(config, judge, "demo").evaluate([ROW, {**ROW, "user_input": "Where?"}], folder=tmp_path / name)
    sentence = "The judge's work for faithfulness is doubtful in 0 of 2 rows of"
    assert any(sentence in caveat for caveat in compare(tmp_path / "a", tmp_path / "b").caveats)
    gate(tmp_path / "b", not_worse_than=tmp_path / "a", margin=0.1)
    assert sentence in caplog.text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It is 5 degrees.", "It is -5 degrees."),
        ("👍", "👎"),
    ],
)
def test_statements_that_differ_by_a_sign_may_have_different_verdicts(first: str, second: str) -> None:
    row = {**ROW, "response": f"{first} {second}", "retrieved_contexts": [first]}
    [score] = evaluate("faithfulness", faithfulness([first, second], [1, 0]), row).scores["faithfulness"]
    assert (score.value, dict(score.flags)) == (0.5, {})


def contradictory(texts: Sequence[str]) -> list[str]:
    """The statements that are another one of these, too: each is supported at an even place, at an odd one not."""
    said = faithfulness(texts, [1 - place % 2 for place in range(len(texts))])
    [score] = evaluate("faithfulness", said).scores["faithfulness"]
    return list(score.flags.get("contradictory", []))


def test_equal_texts_are_equal_as_a_whole() -> None:
    """`benchmarks/work_checks.jsonl` has pairs that differ by a sign, and pairs that are one."""
    lines = map(json.loads, Path("benchmarks/work_checks.jsonl").read_text("utf-8").splitlines())
    pairs = [(line["kind"], line["texts"]) for line in lines if "texts" in line]
    wrong = [pair for pair in pairs if bool(contradictory(pair[1])) != (pair[0] == "texts that are one")]
    assert (wrong, len(pairs) > 50) == ([], True)


def test_the_marks_that_may_be_left_out_are_those_of_three_scripts() -> None:
    marks = [sign for sign in map(chr, range(0x110000)) if category(sign) == "Mn"]
    plain = {f"Word {number} ab": mark for number, mark in enumerate(marks)}
    pairs = [text for without, mark in plain.items() for text in (without.replace("ab", f"a{mark}b"), without)]
    left_out = {plain[text] for text in contradictory(pairs)}
    assert left_out == {
        sign
        for sign in marks
        if "\u0590" <= sign < "\u0900" and name_of(sign).startswith(("ARABIC ", "HEBREW ", "SYRIAC "))
    }


@settings(max_examples=5, deadline=None)
@given(st.lists(st.text(), min_size=5, max_size=20))
def test_a_text_is_equal_to_itself_in_another_form_case_and_spacing(texts: list[str]) -> None:
    texts = [f"{number} {text}" for number, text in enumerate(texts)]
    forms = (partial(normalize, "NFKC"), partial(normalize, "NFD"), str.casefold, " {}\u00a0\n".format)
    others = [form(text) for text in texts for form in forms]
    [score] = evaluate("faithfulness", faithfulness([*texts, *others])).scores["faithfulness"]
    assert set(score.flags["repeated"]) == set(others)


VOCALISED = {
    "arabic": "كَتَبَ الطَّالِبُ الدَّرْسَ فِي الْمَدْرَسَةِ ثُمَّ رَجَعَ إِلَى الْبَيْتِ مَعَ أَخِيهِ الصَّغِيرِ",
    "hebrew": "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ וְהָאָרֶץ הָיְתָה תֹהוּ וָבֹהוּ",
}


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(VOCALISED)), st.data(), st.booleans())
def test_vowel_signs_that_are_left_out_on_either_side_change_nothing(
    language: str, data: st.DataObject, is_row: bool
) -> None:
    text = VOCALISED[language]
    left_out = data.draw(st.sets(st.sampled_from([n for n, sign in enumerate(text) if category(sign) == "Mn"])))
    said = "".join(sign for place, sign in enumerate(text) if place not in left_out)
    shown, written = (text, said) if is_row else (said, text)
    row = {**ROW, "response": shown, "retrieved_contexts": [shown]}
    [score] = evaluate("faithfulness", faithfulness([written]), row).scores["faithfulness"]
    assert (score.value, dict(score.flags)) == (1.0, {})


def entities(row: str, name: str) -> Any:
    shown = {**ROW, "reference": row, "retrieved_contexts": [row]}
    [score] = evaluate("context_entity_recall", {"EntitiesList": {"entities": [name]}}, shown).scores[
        "context_entity_recall"
    ]
    return score


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("Он живёт в Москве.", "Москва"),
        ("Hän asuu Helsingissä.", "Helsinki"),
        ("Bydlí v Praze.", "Praha"),
        ("Mieszka w Krakowie.", "Kraków"),
        ("It opened on May 12, 1921.", "12 May 1921"),
        ("He crossed Alps.", "the Alps"),
        ("İSTANBUL büyük.", "istanbul"),
        ("Il traverse l'Europe.", "Europe"),
        ("يعيش للقاهرة.", "القاهرة"),
        ("הוא גר בתל אביב.", "תֵּל אָבִיב"),
        ("Он рођен у Љубљани.", "Ljubljana"),
        ("他住在北京。", "北京市"),
    ],
)
def test_a_name_in_another_form_is_of_its_row(row: str, name: str) -> None:
    score = entities(row, name)
    assert (score.missing, dict(score.flags)) == (False, {})


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("Er lebt in Wien, am 3. Mai 1921.", "der Mai 1922"),
        ("The company may stay in the united front.", "Marconi Company"),
        ("Он живёт в Москве.", "Самара"),
        ("他住在北京。", "南京路"),
        ("يعيش في القاهرة.", "الخرطوم"),
    ],
)
def test_a_name_of_another_row_is_foreign(row: str, name: str) -> None:
    assert "foreign" in entities(row, name).flags


class Flat(Embeddings):
    """The same vector for every text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.5] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.5]


@pytest.mark.parametrize(
    ("language", "user_input", "response", "question", "is_copied"),
    [
        ("english", "Which city is Germany's capital?", "Berlin.", "What is the capital of Germany?", False),
        ("english", "Name Spain's seat of government.", "It is Madrid.", "What is the capital of Spain?", False),
        ("spanish", "¿Cómo se llama la capital peruana?", "Se llama Lima.", "¿Cuál es la capital de Perú?", False),
        ("german", "Welche Stadt regiert Peru?", "Lima.", "Was ist die Hauptstadt von Peru?", False),
        ("chinese", "秘鲁政府设在哪座城市？", "利马。", "秘鲁的首都是哪里？", False),
        ("english", "Which city is Germany's capital?", "Berlin.", "What is the capital of France?", True),
        ("german", "Welche Stadt regiert Peru?", "Lima.", "Was ist die Hauptstadt von Frankreich?", True),
        ("chinese", "秘鲁政府设在哪座城市？", "利马。", "法国的首都是哪里？", True),
    ],
)
def test_a_question_that_differs_from_the_example_by_its_name_is_no_copy(
    language: str, user_input: str, response: str, question: str, is_copied: bool
) -> None:
    judge = ScriptedJudge({"AnswerRelevanceOutput": {"question": question, "noncommittal": 0}})
    evaluator = RAGEvaluator({"metrics": ["answer_relevancy"], "language": language}, judge, Flat())
    [score] = evaluator.evaluate([{"user_input": user_input, "response": response}]).scores["answer_relevancy"]
    assert score.reason == (COPIED if is_copied else None)


class Graded(InstructorBaseRagasLLM):
    """A user's own ragas LLM, of whom nothing is known."""

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        return response_model(rating=7)

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        return self.generate(prompt, response_model)


def test_the_answers_of_a_ragas_llm_must_be_on_their_scale() -> None:
    [score] = RAGEvaluator({"metrics": ["context_relevance"]}, Graded()).evaluate([ROW]).scores["context_relevance"]
    assert "rating is 7: expected 0 or 1 or 2" in str(score.reason)


@pytest.mark.parametrize(("texts", "reason"), [([EINSTEIN], COPIED), ([OWN], "it came to no end")])
def test_what_is_whole_of_a_list_that_was_cut_is_checked_too(texts: list[str], reason: str) -> None:
    def answer(prompt: str, model: Any) -> Any:
        raise BudgetError("it came to no end", model(statements=texts))

    [score] = RAGEvaluator({"metrics": ["faithfulness"]}, ScriptedJudge(answer)).evaluate([ROW]).scores["faithfulness"]
    assert (score.missing, score.reason) == (True, reason)
