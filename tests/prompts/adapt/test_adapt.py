import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from aliases import Json, ModelFolder
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel

from rag_evaluator import Judge, PromptError, RAGEvaluator, ScriptedJudge
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import source_of
from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import PackSet, adapt_packs, check_packs, english_pack, pack_path
from tests.loaded_prompts import Asked, prompts_owned

OWNERS = list(dict.fromkeys(key[0] for key in all_prompts()))
ROW = {
    "user_input": "Where was Nolu Brak born?",
    "retrieved_contexts": ["Nolu Brak was born in Tesk."],
    "response": "Nolu Brak was born in Tesk.",
}


def question(prompt: str) -> Json:
    """The input of a translation prompt."""
    found: Json = json.loads(prompt.rpartition("\ninput: ")[2].removesuffix("\nOutput: "))
    return found


def klingon(text: str, keep: list[str]) -> str:
    """Every Latin word from back to front, but for what is to be kept: unlike English, and nothing is lost."""
    kept = "|".join(re.escape(one) for one in keep if not one.isdigit())
    return re.sub(rf"({kept})|([A-Za-z]+)" if kept else "()([A-Za-z]+)", lambda m: m[1] or f"{m[2][::-1]}Qu", text)


class Translates(ScriptedJudge):
    """Translates into Klingon, and counts how often it is asked for each text."""

    def __init__(self, pause: float = 0.0) -> None:
        super().__init__(self.answer)
        self.texts: Counter[str] = Counter()
        self.pause = pause

    def answer(self, prompt: str, response_model: type[BaseModel]) -> Json:
        if response_model.__name__ != "TranslationOutput":
            return {"statements": ["x"]} if "Generator" in response_model.__name__ else {"statements": []}
        time.sleep(self.pause)
        data = question(prompt)
        self.texts[data["text"]] += 1
        return {"translation": klingon(data["text"], data["keep"])}


def adapted(folder: Path, judge: ScriptedJudge | Judge, owners: list[str] = OWNERS, **options: Any) -> Any:
    packs = PackSet(prompts_owned(owners), options.pop("language", "klingon"), folder)
    return adapt_packs(packs, source_of(judge, JudgeConfig()), **options)


def pack_at(path: Path) -> Any:
    """What a pack file holds."""
    return SimpleNamespace(**json.loads(path.read_bytes()))


def faulty(owners: list[str], folder: Path) -> dict[str, list[str]]:
    """File -> what `prompts check` finds wrong with it, of the packs in Klingon."""
    checked = check_packs(PackSet(prompts_owned(owners), "klingon", folder))
    return {path.name: [str(fault) for fault in faults] for path, faults in checked.items() if faults}


def packs_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def test_a_good_translator_gives_packs_that_pass_every_check_with_nothing_to_review(tmp_path: Path) -> None:
    judge = Translates()
    done = adapted(tmp_path, judge)
    assert len(done.written) == len(all_prompts())
    assert faulty(OWNERS, tmp_path) == {}
    assert done.marked == 0
    assert set(judge.texts.values()) == {1}, "identical texts are asked for once"


def test_an_adapted_pack_is_its_english_source_with_the_texts_exchanged(tmp_path: Path) -> None:
    adapted(tmp_path, Translates(), ["answer_accuracy"])
    pack = pack_at(tmp_path / "answer_accuracy_judge1_prompt_klingon.json")
    english = english_pack(all_prompts()["answer_accuracy", "judge1_prompt"])
    keep = ['{"rating": X}']
    assert pack.instruction == klingon(english.instruction, keep)
    assert '{"rating": X}' in pack.instruction
    assert pack.examples[0] == {
        "input": {name: klingon(text, []) for name, text in english.examples[0]["input"].items()},
        "output": {"rating": 2},
    }
    assert (pack.language, pack.original_hash) == ("klingon", english.original_hash)


def test_the_prompt_has_what_to_keep_and_both_names_of_the_language(tmp_path: Path) -> None:
    judge = Translates()
    adapted(tmp_path, judge, ["answer_relevancy", "answer_correctness"], language="ca")
    asked = [question(prompt) for prompt in judge.prompts]
    assert {one["language"] for one in asked} == {"catalan (català)"}
    [noncommittal] = [one for one in asked if one["text"].startswith("Give noncommittal")]
    assert noncommittal["keep"] == ["noncommittal", "1", "0"]
    [classes] = [one for one in asked if "TP (true positive)" in one["text"]]
    assert classes["keep"] == ["FN", "FP", "TP"]


def test_a_pack_that_exists_is_kept(tmp_path: Path) -> None:
    adapted(tmp_path, Translates(), ["faithfulness"])
    mine = pack_path(tmp_path, ("faithfulness", "statement_generator_prompt"), "klingon")
    made = mine.read_bytes()
    mine.write_bytes(made + b" ")
    judge = Translates()
    done = adapted(tmp_path, judge, ["faithfulness", "context_recall"])
    assert mine.read_bytes() == made + b" "
    assert [path.name for path in done.written] == ["context_recall_prompt_klingon.json"]
    assert mine in done.kept


def test_a_run_that_breaks_off_is_continued_with_the_packs_that_are_missing(tmp_path: Path) -> None:
    class Breaks(Translates):
        def answer(self, prompt: str, response_model: type[BaseModel]) -> Json:
            if "faithfulness of a series" in question(prompt)["text"]:
                raise RuntimeError("the machine is gone")
            return super().answer(prompt, response_model)

    adapted(tmp_path / "whole", Translates(), ["sort", "faithfulness"])
    with pytest.raises(RuntimeError, match="gone"):
        adapted(tmp_path / "broken", Breaks(), ["sort", "faithfulness"])
    before = packs_in(tmp_path / "broken")
    assert 0 < len(before) < 4
    done = adapted(tmp_path / "broken", Translates(), ["sort", "faithfulness"])
    assert sorted(path.name for path in done.kept) == sorted(before)
    assert packs_in(tmp_path / "broken") == packs_in(tmp_path / "whole")


def test_two_runs_at_once_ask_once(tmp_path: Path) -> None:
    judges = [Translates(0.02), Translates(0.02)]
    done = []
    threads = [
        threading.Thread(target=lambda judge=judge: done.append(adapted(tmp_path, judge, ["faithfulness"])))
        for judge in judges
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(one.written) for one in done) == [0, 2]
    assert min(len(judge.texts) for judge in judges) == 0


def spoiled(tmp_path: Path, wrong: Callable[[str], str]) -> Any:
    """The pack of a judge that gives `wrong` answers."""

    class Spoils(Translates):
        def answer(self, prompt: str, response_model: type[BaseModel]) -> Json:
            return {"translation": wrong(question(prompt)["text"])}

    adapted(tmp_path, Spoils(), ["answer_relevancy"])
    [path] = tmp_path.glob("*.json")
    return pack_at(path)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda text: " ", "it is empty"),
        (lambda text: text.replace("noncommittal", "evasive").replace("1905", "1950"), "lost: noncommittal"),
        (lambda text: f"{text} {'ha ' * 9}", "it repeats 'ha '"),
    ],
)
def test_a_translation_that_cannot_be_used_is_named_and_the_english_text_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: Callable[[str], str], reason: str
) -> None:
    pack = spoiled(tmp_path, wrong)
    english = english_pack(all_prompts()["answer_relevancy", "prompt"])
    line = next(line for line in english.instruction.splitlines() if line.startswith("Give noncommittal"))
    assert line in pack.instruction
    assert f"answer_relevancy_prompt_klingon.json: instruction: {reason}" in caplog.text
    assert f"English, which stays: {line!r}" in caplog.text


def test_what_prompts_check_finds_in_a_translation_that_is_used_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoiled(tmp_path, lambda text: text)
    assert "prompts check says: examples[1].input.response: left in English" in caplog.text
    assert "prompts check says: instruction: left in English" in caplog.text


def test_english_is_not_adapted(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="English already"):
        adapted(tmp_path, Translates(), language="en")


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", "utf-8")
    with pytest.raises(PromptError, match="cannot be written"):
        adapted(tmp_path / "taken", Translates(), ["faithfulness"])


def test_a_model_with_too_small_a_window_loses_no_text(
    model_folder: ModelFolder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = model_folder("llama-bytelevel", max_position_embeddings=512)
    done = adapted(tmp_path, Judge.from_config(JudgeConfig(model=str(folder))), ["answer_relevancy"])
    english = english_pack(all_prompts()["answer_relevancy", "prompt"])
    pack = pack_at(done.written[0])
    assert (pack.instruction, pack.examples) == (english.instruction, english.examples)
    assert "does not fit the model's window of 512 tokens" in caplog.text


def test_missing_packs_are_adapted_before_scoring_where_the_configuration_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = {
        "metrics": ["faithfulness", "answer_relevancy"],
        "language": "klingon",
        "prompts_dir": str(tmp_path / "packs"),
        "prompts": {"adapt": True},
    }
    judge = Translates()
    evaluator = RAGEvaluator(config, judge=judge, embeddings=DeterministicFakeEmbedding(size=8))
    evaluator.evaluate([ROW])
    assert len(packs_in(tmp_path / "packs")) == 3
    asked = [prompt for prompt in judge.prompts if not prompt.startswith("Translate the English text")]
    assert asked[0].startswith(klingon("Given a question", []))
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'packs'}: packs in klingon are missing and are made with the judge, which takes a while",
        "3 packs made, nobody has read them yet: 0 doubtful texts",
    ]
    again = Translates()
    RAGEvaluator(config, judge=again, embeddings=DeterministicFakeEmbedding(size=8)).set_prompts()
    assert again.prompts == []


def translated(
    folder: Path,
    text: str,
    other: str = "q",
    language: str = "klingon",
    words: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], str]:
    """The parts of an example's text that a judge is asked to translate, and the text that its translations give.

    Args:
        other: another text of the example.
    """
    judge = ScriptedJudge(lambda prompt, _: {"translation": words.get(part := question(prompt)["text"], part)})
    packs = PackSet({("asked", "prompt"): Asked("!", text, other)}, language, folder)
    [path] = adapt_packs(packs, source_of(judge, JudgeConfig())).written
    asked = {question(prompt)["text"] for prompt in judge.prompts} - {"!", "q"}
    return sorted(asked), pack_at(path).examples[0]["input"]["context"]


@pytest.mark.parametrize(
    ("text", "other", "asked"),
    [
        ("One.\n\n* Two. Three\n", "q", ["One.", "Two. Three"]),
        ("0. Say 0.\nA. Say 1.", "q", ["Say 0.", "Say 1."]),
        (" x ", "q", ["x"]),
        ("Do a. Do b. Do c.", "Do b.", ["Do a.", "Do b.", "Do c."]),
        ("a? B! 。؟,;\n\n * B. ", "B.", ["B.", "a? B! 。؟,;"]),
    ],
)
def test_lines_are_asked_for_without_markers_and_sentences_that_occur_elsewhere_alone(
    text: str, other: str, asked: list[str], tmp_path: Path
) -> None:
    assert translated(tmp_path, text, other) == (asked, text)


def test_long_lines_are_divided_at_sentence_ends(tmp_path: Path) -> None:
    text = " ".join(f"This one, number {number}, has thirty-six letters." for number in range(10, 40))
    parts, joined = translated(tmp_path, text)
    assert len(parts) == 3
    assert all(len(part) <= 500 and part.endswith("letters.") for part in parts)
    assert joined == text


def test_blanks_between_sentences_go_where_the_script_has_none(tmp_path: Path) -> None:
    text = "He ate. He slept.\n* She ran."
    japanese = {"He ate.": "一。", "He slept.": "二。", "She ran.": "三。"}
    spanish = {"He ate.": "Uno.", "He slept.": "Dos.", "She ran.": "Tres."}
    assert translated(tmp_path, text, "He ate.", "japanese", japanese)[1] == "一。二。\n* 三。"
    assert translated(tmp_path, text, "He ate.", "spanish", spanish)[1] == "Uno. Dos.\n* Tres."
