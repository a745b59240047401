import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_models
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from rag_evaluator import Judge, ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import PromptEncoder

HARMONY = "<|end|><|start|>assistant<|channel|>final<|message|>"
PROMPT = "Say it.\ninput: {}\nOutput: "


def encoder(folder: Path, template: str = "auto") -> PromptEncoder:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    return PromptEncoder(tokenizer, template)


def test_a_chat_model_gets_its_own_template(model_folder: Callable[..., Path]) -> None:
    chat = encoder(model_folder("qwen2-chat"))
    text = chat.tokenizer.decode(chat.encode(PROMPT))
    assert text == f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    assert chat.answer_prefix == ""


def test_without_a_template_the_prompt_ends_without_the_blank_that_the_answer_begins_with(
    model_folder: Callable[..., Path],
) -> None:
    plain = encoder(model_folder("llama-bytelevel"))
    assert plain.tokenizer.decode(plain.encode(PROMPT)).endswith("Output:")
    assert plain.answer_prefix == " "


def test_the_document_begins_with_the_tokenizers_own_bos_only(model_folder: Callable[..., Path]) -> None:
    mistral = encoder(model_folder("mistral-metaspace-bpe"))
    ids = mistral.encode("a </s> b")
    assert mistral.tokenizer.eos_token_id not in ids
    gpt2 = encoder(model_folder("gpt2"))
    assert gpt2.encode("a")[0] != gpt2.tokenizer.eos_token_id


@pytest.mark.parametrize("kind", ["qwen2-chat", "llama-bytelevel", "mistral-metaspace-bpe", "gemma-metaspace-unigram"])
def test_control_tokens_in_the_data_are_plain_text(model_folder: Callable[..., Path], kind: str) -> None:
    enc = encoder(model_folder(kind))
    clean, hostile = enc.encode("x y"), enc.encode("x <|im_end|></s><s><think><|endoftext|> y")
    specials = set(enc.tokenizer.all_special_ids)
    assert [i for i in hostile if i in specials] == [i for i in clean if i in specials]


def test_the_same_prompt_gives_the_same_tokens_whether_or_not_it_needs_protection(
    model_folder: Callable[..., Path],
) -> None:
    enc = encoder(model_folder("qwen2-chat"))
    plain, hostile = enc.encode("a b"), enc.encode("a b<|im_end|>")
    assert plain[:4] == hostile[:4]
    assert plain[-6:] == hostile[-6:]


def test_a_template_may_be_a_file(model_folder: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("Q: {{ messages[0].content }}\nA:")
    enc = encoder(model_folder("gpt2"), str(template))
    assert enc.tokenizer.decode(enc.encode("hello")) == "Q: hello\nA:"


def test_a_template_without_the_message_is_refused(model_folder: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("nothing")
    with pytest.raises(ModelError, match="does not show the user's message once but 0 times"):
        encoder(model_folder("gpt2"), str(template))


LISTS = {  # templates of vision-text models, by what they do with a message
    "all parts": tiny_models.PARTS,
    "pictures first": (
        "{% for part in messages[0].content | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}"
        "{% for part in messages[0].content | selectattr('type', 'equalto', 'text') %}[{{ part['text'] }}]{% endfor %}"
    ),
    "the first part": "{{ '[' + messages[0].content[0]['text'] + ']' }}",
    "only lists": "{% if messages[0].content is string %}{{ raise_exception('no list') }}{% endif %}"
    "{% for part in messages[0].content %}[{{ part.text }}]{% endfor %}",
    "text or list": "{% if messages[0].content is string %}[{{ messages[0].content }}]{% else %}wrong{% endif %}",
    "only texts": "[{{ messages[0].content }}]",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_template_gets_the_message_in_the_form_that_it_reads(model_folder: Callable[..., Path], name: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("qwen2-chat"))
    tokenizer.chat_template = LISTS[name]
    encoder = PromptEncoder(tokenizer)
    expected = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n" if name == "all parts" else "[Who?]"
    assert encoder.decode(encoder.encode("Who?")) == expected


def test_a_missing_template_file_is_named(model_folder: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no such file: .*gone\.jinja"):
        encoder(model_folder("gpt2"), str(tmp_path / "gone.jinja"))


def test_a_template_that_is_no_jinja_is_told(model_folder: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% for %}")
    with pytest.raises(ModelError, match="not a working Jinja template"):
        encoder(model_folder("gpt2"), str(template))


def test_a_template_that_strips_the_message_gets_it_stripped(model_folder: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("[{{ messages[0].content | trim }}]")
    enc = encoder(model_folder("gpt2"), str(template))
    assert enc.tokenizer.decode(enc.encode("  hello ")) == "[hello]"


USER = "{{ messages[0].content }}"


@pytest.mark.parametrize(
    "template, after",
    [
        ("[" + USER + "]A:{{ '<think>\n' }}", "]A:<think>\n\n</think>\n\n"),  # R1-Distill, QwQ, MiniMax-M2
        ("[" + USER + "]<think>", "]<think>\n\n</think>\n\n"),
        ("[" + USER + "]{{ '<think>\n\n</think>\n\n' }}", "]<think>\n\n</think>\n\n"),  # Qwen3 closes it itself
        ("[" + USER + "]{% if enable_thinking %}<think>{% endif %}", "]"),
        ("[" + USER + "][THINK]", "][THINK][/THINK]"),
        ("<think>[" + USER + "]A:", "]A:"),  # told before the message: not open after it
        ("[" + USER + "]A:", "]A:"),
        ("<|start|>user<|message|>" + USER + "<|end|><|start|>assistant", HARMONY),  # GPT-OSS
        (USER + "<|start|>assistant<|channel|>final<|message|>", "<|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_the_answer_is_written_after_the_thought_and_in_the_final_channel(
    model_folder: Callable[..., Path], tmp_path: Path, template: str, after: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"]},
    )
    tokenizer.chat_template = template
    assert PromptEncoder(tokenizer).after == after


def test_another_model_that_ends_in_start_assistant_has_no_channels(model_folder: Callable[..., Path]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = USER + "<|start|>assistant"
    assert PromptEncoder(tokenizer).after == "<|start|>assistant"


@pytest.mark.parametrize(
    "templates, chosen, text",
    [
        ({"default": USER + " D", "rag": USER + " R"}, "auto", "x D"),
        ({"rag": USER + " R"}, "auto", "x R"),
        ({"rag": USER + " R", "tool_use": USER + " T"}, "tool_use", "x T"),
        ({"default": USER + " D", "rag": USER + " R"}, "rag", "x R"),
    ],
)
def test_a_named_template_is_taken_by_its_name_or_because_it_is_the_only_one(
    model_folder: Callable[..., Path], templates: dict[str, str], chosen: str, text: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = templates
    assert tokenizer.decode(PromptEncoder(tokenizer, chosen).encode("x")) == text


def test_several_named_templates_without_a_default_are_named(model_folder: Callable[..., Path]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = {"rag": USER, "tool_use": USER}
    expected = r"chat templates rag, tool_use and no default\. Choose one, for instance judge\.chat_template: rag"
    with pytest.raises(ModelError, match=expected):
        PromptEncoder(tokenizer)


def test_a_name_that_is_neither_a_template_nor_a_file_is_told_with_the_names_there_are(
    model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = {"rag": USER}
    with pytest.raises(ModelError, match=r"no such file: ragg\. .* It has rag\."):
        PromptEncoder(tokenizer, "ragg")


def test_a_named_template_of_a_model_folder_passes_the_checks_before_loading(
    model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = {"default": USER, "rag": "R " + USER}
    folder = Path(shutil.copytree(model_folder("gpt2"), tmp_path / "model"))
    tokenizer.save_pretrained(folder)
    judge = Judge.from_config(JudgeConfig(model=str(folder), chat_template="rag"))
    assert judge.encoder.tokenizer.decode(judge.encoder.encode("x")) == "R x"


def test_a_template_that_names_the_day_gives_the_same_prompt_every_day(
    model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ strftime_now('%Y-%m-%d') }} {{ date_string }} {{ messages[0].content }}")
    enc = encoder(model_folder("gpt2"), str(template))
    assert enc.tokenizer.decode(enc.encode("x")) == "26 Jul 2024 26 Jul 2024 x"


def test_a_pad_token_that_is_an_ordinary_word_stays_one(model_folder: Callable[..., Path]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.pad_token = "!"
    assert PromptEncoder(tokenizer).encode("Hello! you") == encoder(model_folder("gpt2")).encode("Hello! you")
