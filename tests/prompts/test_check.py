import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aliases import Capture, Json, Patch
from folders import error_of, output_of, run_command

from rag_evaluator.cli.main import main
from rag_evaluator.config import LANGUAGES, all_features, find_language, sentences
from rag_evaluator.config.features import FOLDER
from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import PACKAGED, Fault, PackSet, check_packs, english_pack, foreign, languages_in, pack_path
from tests.loaded_prompts import Asked, load_prompts, shipped

TEN = ["arabic", "chinese", "french", "german", "hindi", "italian", "japanese", "korean", "portuguese", "spanish"]
NLI = "faithfulness_nli_statement_prompt_spanish.json"
RATING = "answer_accuracy_judge1_prompt_spanish.json"
RECALL = "context_recall_prompt_spanish.json"
GROUNDED = "groundedness_prompt_spanish.json"
PRECISION = "context_precision_with_reference_prompt_spanish.json"
Change = Callable[[Json], object]


ORIGINALS = all_prompts()


def check_language(folder: Path, language: str) -> dict[Path, list[Fault]]:
    """Every pack of a language, checked."""
    return check_packs(PackSet(ORIGINALS, language, folder), PACKAGED)


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str, Change], list[Fault]]:
    """`broken(file, change)`: the faults of the Spanish packs after a change to one of them."""
    for path in shipped("*_spanish.json"):
        shutil.copy(path, tmp_path)

    def faults(name: str, change: Change) -> list[Fault]:
        pack = json.loads((tmp_path / name).read_bytes())
        change(pack)
        (tmp_path / name).write_text(json.dumps(pack, ensure_ascii=False), "utf-8")
        found = check_language(tmp_path, "spanish")
        assert {path.name for path, wrong in found.items() if wrong} <= {name}
        return [fault for wrong in found.values() for fault in wrong]

    return faults


def at(*place: Any, value: Any) -> Change:
    """Sets what stands at a place."""

    def change(pack: Json) -> None:
        holder: Any = pack
        for part in place[:-1]:
            holder = holder[part]
        holder[place[-1]] = value

    return change


def in_instruction(old: str, new: str) -> Change:
    def change(pack: Json) -> None:
        assert old in pack["instruction"]
        pack["instruction"] = pack["instruction"].replace(old, new)

    return change


@pytest.mark.parametrize("language", TEN)
def test_every_prompt_has_a_good_pack_in_each_of_the_ten_languages(language: str) -> None:
    found = check_language(PACKAGED[0], language)
    assert {path.stem for path in found} == {f"{owner}_{name}_{language}" for owner, name in ORIGINALS}
    assert {path.name: [str(fault) for fault in wrong] for path, wrong in found.items() if wrong} == {}


def test_the_shipped_folders_hold_packs_of_the_ten_languages_and_nothing_else() -> None:
    assert languages_in(PACKAGED[0]) == TEN
    expected = {f"{language}/{owner}_{name}_{language}.json" for owner, name in ORIGINALS for language in TEN}
    files = [path for folder in PACKAGED for path in folder.rglob("*.json")]
    assert sorted(f"{path.parent.name}/{path.name}" for path in files) == sorted(expected)


def test_a_pack_of_a_feature_lies_in_its_folder() -> None:
    for name, feature in all_features().items():
        paths = [path for owner in feature.prompts for path in shipped(f"{owner}_*.json")]
        assert all(path.is_relative_to(FOLDER / name) for path in paths)
        assert bool(paths) == bool(feature.prompts)


def test_languages_of_several_words_are_found_by_their_files(tmp_path: Path) -> None:
    shutil.copy(shipped(NLI)[0], tmp_path / "faithfulness_nli_statement_prompt_old_norse.json")
    shutil.copy(shipped(NLI)[0], tmp_path / "answer_correctness_correctness_classifier_prompt_middle_high_german.json")
    (tmp_path / "notes_spanish.json").write_text("{}", "utf-8")
    assert languages_in(tmp_path) == ["middle_high_german", "old_norse"]


@pytest.mark.parametrize(
    ("name", "change", "kind", "told"),
    [
        (NLI, lambda pack: pack["examples"][0]["input"].pop("context"), "invalid", "examples[0].input does not fit"),
        (RATING, lambda pack: pack["examples"].pop(), "structure", "examples: 2 examples, the source has 3"),
        (
            NLI,
            lambda pack: pack["examples"][0]["output"]["statements"].pop(),
            "structure",
            "examples[0].output.statements[3].reason: missing",
        ),
        (NLI, at("examples", 0, "input", "note", value="x"), "structure", "examples[0].input.note: not in the source"),
        (NLI, at("examples", 0, "input", "context", value=" "), "structure", "examples[0].input.context: empty"),
        (
            NLI,
            at("examples", 0, "output", "statements", 2, "verdict", value=0),
            "labels",
            "examples[0].output.statements[2].verdict: is 0, the source has 1",
        ),
        (RATING, in_instruction('{"rating": X}', '{"nota": X}'), "labels", 'instruction: {"rating": X} of the source'),
        (at, at("original_hash", value="0123456789abcdef"), "stale", "original_hash: made from another English source"),
        (NLI, at("language", value="español"), "language", "language: is 'español', the file's name says 'spanish'"),
        (
            NLI,
            at("examples", 0, "output", "statements", 0, "statement", value="John estudia Biología."),
            "repeats",
            "examples[0].output.statements[0].statement: differs from examples[0].input.statements[0]",
        ),
        (
            RECALL,
            at("examples", 0, "output", "classifications", 3, "statement", value="En 1895 Einstein se fue a Suiza."),
            "repeats",
            "examples[0].output.classifications[3].statement: is no longer a part of examples[0].input.answer",
        ),
        (
            PRECISION,
            at("examples", 2, "input", "context", value="Los Andes son la cordillera más larga del mundo."),
            "length",
            "examples[2].input.context: 0.1 times as long as a translation is",
        ),
        (
            GROUNDED,
            at("examples", 0, "output", "answer", value="sí"),
            "invalid",
            "examples[0].output does not fit VerifyOutput: answer: Input should be 'yes' or 'no'.",
        ),
        (
            NLI,
            at("instruction", value=ORIGINALS["faithfulness", "nli_statement_prompt"].instruction),
            "language",
            "instruction: left in English",
        ),
        (
            RATING,
            at("examples", 2, "input", "user_answer", value="The Eiffel Tower is a famous landmark."),
            "language",
            "examples[2].input.user_answer: left in English",
        ),
        (
            RATING,
            at("examples", 2, "input", "user_answer", value="It is the Eiffel Tower, which is famous in the world."),
            "language",
            "examples[2].input.user_answer: it reads like english",
        ),
    ],
)
def test_a_broken_pack_is_caught(broken: Any, name: Any, change: Change, kind: str, told: str) -> None:
    faults = broken(NLI if name is at else name, change)
    assert {fault.kind for fault in faults} == {kind}
    assert any(str(fault).startswith(told) for fault in faults)


@pytest.mark.parametrize(("one", "other"), itertools.permutations(TEN, 2), ids="-".join)
def test_packs_of_one_language_under_the_name_of_another_are_caught(one: str, other: str, tmp_path: Path) -> None:
    chosen = dict(list(ORIGINALS.items())[:: 6 if {one, other} & {"arabic", "hindi", "korean"} else 1])
    for key in chosen:
        [path] = shipped(pack_path(Path(), key, other).name)
        pack = json.loads(path.read_bytes())
        pack_path(tmp_path, key, one).write_text(json.dumps({**pack, "language": one}), "utf-8")
    for path, faults in check_packs(PackSet(chosen, one, tmp_path)).items():
        assert "language" in {fault.kind for fault in faults}, path


def test_the_command_counts_good_packs_shows_every_fault_and_fails(
    broken: Any, tmp_path: Path, capsys: Capture
) -> None:
    broken(NLI, at("original_hash", value="0"))
    broken(NLI, at("language", value="english"))
    assert main(["prompts", "check", str(tmp_path)]) == 2
    shown = capsys.readouterr().out
    assert shown.startswith(f"spanish: {len(ORIGINALS) - 1} of {len(ORIGINALS)} packs are complete")
    assert f"{tmp_path / NLI}: language: language: is 'english', the file's name says 'spanish'\n" in shown
    assert f"{tmp_path / NLI}: stale: original_hash: made from another English source (0; " in shown


def test_the_command_passes_on_the_chosen_metrics_and_language(tmp_path: Path, capsys: Capture) -> None:
    for path in [*shipped("context_recall*_hindi.json"), *shipped("sort*_hindi.json")]:
        shutil.copy(path, tmp_path)
        shutil.copy(path, tmp_path / path.name.replace("hindi", "nepali"))  # of which the package has none
    assert main(["prompts", "check", str(tmp_path)]) == 2
    run_command("prompts", "check", tmp_path, "--language", "hi", "--metrics", "LLMContextRecall", "sort")
    shown = capsys.readouterr().out
    packs = len(ORIGINALS)
    for language, good in (("nepali", f"0 of {packs}"), ("hindi", f"{packs} of {packs}"), ("hi", "3 of 3")):
        assert f"{language}: {good} packs are complete" in shown
    assert shown.count(": missing: ") == packs - 3


@pytest.mark.parametrize("action", ["check", "adapt"])
def test_a_misspelt_language_is_asked_about_and_a_toy_translates_nothing(
    action: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("rag_evaluator.prompts.adapt._adapt", lambda *_: SimpleNamespace(written=[], kept=[], marked=0))
    folder = [str(tmp_path)] if action == "check" else ["--folder", str(tmp_path)]
    main(["prompts", action, *folder, "--language", "catalán", "--metrics", "faithfulness"])
    assert "language 'catalán' is not known. Did you mean 'catalan'?" in caplog.text
    assert ("The demo judge is a toy that cannot translate" in caplog.text) is (action == "adapt")


def test_a_folder_without_packs_is_reported(tmp_path: Path, capsys: Capture) -> None:
    assert error_of(capsys, "prompts", "check", tmp_path).startswith(f"error: {tmp_path}: no prompt packs. ")


@pytest.mark.parametrize(
    ("text", "translation", "gone"),
    [
        ("In 1879, 212 degrees", "En 1897, 212 grados", ["1879"]),
        ("299,792,458 meters", "२९,९७,९२,४५८ मीटर", []),
        ("299,792,458 meters", "299.792.485 metros", ["299792458"]),
        ("born March 14, 1879", "١٤ مارس ١٨٧٩", []),
        ("between 50,000 and 80,000", "5万至8万", []),
        ("between 50,000 and 80,000", "5万至9万", ["80000"]),
        ("worth $3 trillion", "pari a 3.000 miliardi di dollari", []),
        ("over 3 billion people", "30多亿人", []),
        ("in 3 parts", "in 3.000 parti", ["3"]),
        ("the 7th century BC", "siglo VII a. C.", []),
        ("E = mc2, T20, COVID-19", "E = mc², T20, la COVID", ["19"]),
        ('say {"rating": X}', 'di {"rating":X}', ['{"rating": X}']),
        ("give verdict 1", "给出verdict为1", []),
        ("give verdict 1", "da verdicto 1", ["verdict"]),
    ],
)
def test_numbers_placeholders_and_label_words_must_survive(
    text: str, translation: str, gone: list[str], tmp_path: Path
) -> None:
    prompt = Asked(text)
    pack = {"language": "klingon", "instruction": translation, "original_hash": english_pack(prompt).original_hash}
    example = {"input": {"user_input": "q", "context": "c"}, "output": {"verdict": 1}}
    path = pack_path(tmp_path, ("asked", "prompt"), "klingon")
    path.write_text(json.dumps({**pack, "examples": [example]}), "utf-8")
    faults = check_packs(PackSet({("asked", "prompt"): prompt}, "klingon", tmp_path))[path]
    said = [str(fault) for fault in faults if fault.kind == "labels"]
    assert said == ([f"instruction: {', '.join(gone)} of the source is lost"] if gone else [])


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
        ("es", "Hola. ¿Qué tal? Bien.", ["Hola. ", "¿Qué tal? ", "Bien."]),
        ("es", "Einstein (70 d. C.) y J. Smith fueron. Fin", ["Einstein (70 d. C.) y J. Smith fueron. ", "Fin"]),
        ("zh", "他出生了。那里有河！对吗？是", ["他出生了。", "那里有河！", "对吗？", "是"]),
        ("ja", "彼は「行く。」と言った。", ["彼は「行く。」", "と言った。"]),
        ("ar", "هل هذا؟ نعم. لا", ["هل هذا؟ ", "نعم. ", "لا"]),
        ("hi", "यह है। वह था। 2020 में", ["यह है। ", "वह था। ", "2020 में"]),
        ("en", "3.14 is pi. So", ["3.14 is pi. ", "So"]),
        ("en", "", []),
    ],
)
def test_sentences_end_as_the_languages_end_them(language: str, text: str, parts: list[str]) -> None:
    assert sentences(text, find_language(language)) == parts


def test_a_few_words_may_be_in_any_language() -> None:
    for language in LANGUAGES.values():
        assert foreign("Albert Einstein, 1905", language) is None


def test_a_language_that_is_not_known_may_be_any_but_english() -> None:
    klingon = find_language("klingon")
    assert foreign("The verdict is one if the statement is in the context.", klingon) == "it reads like english"
    assert foreign("tlhIngan maH! taHjaj boq Duj tIn law' qagh jej", klingon) is None


@pytest.mark.parametrize(("language", "folder"), [("es", "mine"), ("english", "orig_prompts")])
def test_export_takes_language_and_folder_from_a_configuration(
    language: str, folder: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    """English prompts are written again, so they never go to the folder of packs that may have been changed."""
    monkeypatch.chdir(tmp_path)
    text = f"metrics: [faithfulness]\nlanguage: {language}\nprompts_dir: mine\n"
    Path("config.yaml").write_text(text, "utf-8")
    run_command("prompts", "export", "--config", "config.yaml")
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", folder}
    pack = f"faithfulness_nli_statement_prompt_{find_language(language).name}.json"
    assert (tmp_path / folder / pack).exists()


def test_packs_of_a_language_are_exported_and_checked_with_those_of_the_package(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "mine"
    run_command("prompts", "export", folder, "--language", "es")
    packs = shipped("*_spanish.json")
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [path.read_bytes() for path in packs]
    changed = folder / "answer_accuracy_judge1_prompt_spanish.json"
    for path in folder.iterdir():
        path.unlink() if path != changed else path.write_text("{}")
    assert main(["prompts", "check", str(folder), "--language", "spanish"]) == 2
    assert str(changed) in (printed := capsys.readouterr().out)
    assert "no such file" not in printed
    shown = output_of(capsys, "prompts", "export", folder, "--language", "spanish")
    assert f"{len(packs) - 1} packs in spanish written to {folder}/, 1 were there" in shown
    assert changed.read_text() == "{}"
    assert "no packs come with the program" in error_of(capsys, "prompts", "export", folder, "--language", "catalan")


def test_an_english_pack_that_was_changed_is_kept_and_good(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "mine"
    run_command("prompts", "export", folder)
    changed = folder / "faithfulness_nli_statement_prompt_english.json"
    pack = json.loads(changed.read_bytes())
    pack["instruction"] = "You are a strict reader. " + pack["instruction"]
    changed.write_text(json.dumps(pack), "utf-8")
    before = changed.read_bytes()
    assert "0 English prompts" in (shown := output_of(capsys, "prompts", "export", folder))
    assert "were there and are kept" in shown
    assert changed.read_bytes() == before
    words = ("prompts", "check", folder, "--language", "english", "--metrics", "faithfulness")
    assert output_of(capsys, *words) == "english: 2 of 2 packs are complete, current and in their language\n"


@pytest.mark.parametrize("name", ["answer_acuracy_judge1_prompt_spanish", "answer_accuracy_judge1_prompt_es"])
def test_a_file_that_looks_like_a_pack_and_is_none_is_named(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copy(shipped("answer_accuracy_judge1_prompt_spanish.json")[0], tmp_path / f"{name}.json")
    shutil.copy(shipped("answer_accuracy_judge2_prompt_spanish.json")[0], tmp_path)
    load_prompts(["answer_accuracy"], "spanish", tmp_path)
    assert caplog.text.count("is not used") == 1
    assert f"{name}.json is not used: no prompt has this name" in caplog.text
