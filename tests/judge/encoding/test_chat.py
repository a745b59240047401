from pathlib import Path
from typing import Any

import pytest
import tiny_models
from aliases import ModelFolder
from transformers import AutoTokenizer

from rag_evaluator import ModelError

HARMONY = "<|end|><|start|>assistant<|channel|>final<|message|>"
PROMPT = "Say it.\ninput: {}\nOutput: "


def encoder(folder: Path, template: str = "auto") -> Any:
    return tiny_models.judge_of(AutoTokenizer.from_pretrained(folder), chat_template=template).inner.encoder


def test_without_a_template_the_prompt_ends_without_the_blank_that_the_answer_begins_with(
    model_folder: ModelFolder,
) -> None:
    chat = encoder(model_folder("qwen2-chat"))
    text = chat.tokenizer.decode(chat.encode(PROMPT))
    assert text == f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\n"
    assert chat.answer_prefix == ""
    plain = encoder(model_folder("llama-bytelevel"))
    assert plain.tokenizer.decode(plain.encode(PROMPT)).endswith("Output:")
    assert plain.answer_prefix == " "


def test_the_document_begins_with_the_tokenizers_own_bos_only(model_folder: ModelFolder) -> None:
    mistral = encoder(model_folder("mistral-metaspace-bpe"))
    ids = mistral.encode("a </s> b")
    assert mistral.tokenizer.eos_token_id not in ids
    gpt2 = encoder(model_folder("gpt2"))
    assert gpt2.encode("a")[0] != gpt2.tokenizer.eos_token_id


@pytest.mark.parametrize("kind", ["qwen2-chat", "llama-bytelevel", "mistral-metaspace-bpe", "gemma-metaspace-unigram"])
def test_control_tokens_in_the_data_are_plain_text(model_folder: ModelFolder, kind: str) -> None:
    enc = encoder(model_folder(kind))
    clean = enc.encode("x y")
    hostile = enc.encode("x <|im_end|></s><s><think><|endoftext|> y")
    specials = set(enc.tokenizer.all_special_ids)
    assert [i for i in hostile if i in specials] == [i for i in clean if i in specials]
    assert clean[0] == hostile[0]


@pytest.mark.parametrize(
    ("template", "prompt", "text"),
    [
        ("Q: {{ messages[0].content }}\nA:", "hello", "Q: hello\nA:"),
        ("[{{ messages[0].content | trim }}]", "  hello ", "[hello]"),
        (
            "{{ strftime_now('%Y-%m-%d') }} {{ date_string }} {{ messages[0].content }}",
            "x",
            "26 Jul 2024 26 Jul 2024 x",
        ),
        ("{{ messages[0].content }}<|start|>assistant", "x", "x<|start|>assistant"),  # no channels in its vocabulary
    ],
)
def test_a_template_may_be_a_file_and_gives_the_same_prompt_every_day(
    model_folder: ModelFolder, tmp_path: Path, template: str, prompt: str, text: str
) -> None:
    (tmp_path / "t.jinja").write_text(template)
    enc = encoder(model_folder("gpt2"), str(tmp_path / "t.jinja"))
    assert enc.tokenizer.decode(enc.encode(prompt)) == text


@pytest.mark.parametrize(
    ("template", "message"), [("nothing", "0 times"), ("{% for %}", "not a working Jinja"), (None, "no such file")]
)
def test_a_file_that_is_no_template_is_refused(
    model_folder: ModelFolder, tmp_path: Path, template: str | None, message: str
) -> None:
    if template is not None:
        (tmp_path / "t.jinja").write_text(template)
    with pytest.raises(ModelError, match=rf"judge\.chat_template: .*{message}"):
        encoder(model_folder("gpt2"), str(tmp_path / "t.jinja"))


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
def test_a_template_gets_the_message_in_the_form_that_it_reads(model_folder: ModelFolder, name: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("qwen2-chat"))
    tokenizer.chat_template = LISTS[name]
    encoder = tiny_models.judge_of(tokenizer).inner.encoder
    expected = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n" if name == "all parts" else "[Who?]"
    assert encoder.decode(encoder.encode("Who?")) == expected


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
    model_folder: ModelFolder, template: str, after: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<|start|>", "<|channel|>", "<|message|>", "<|end|>"]},
    )
    tokenizer.chat_template = template
    assert tiny_models.judge_of(tokenizer).inner.encoder.after == after


def test_of_several_templates_the_default_is_taken(model_folder: ModelFolder) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.chat_template = {"default": USER + " D", "rag": USER + " R"}
    assert tokenizer.decode(tiny_models.judge_of(tokenizer).inner.encoder.encode("x")) == "x D"
    tokenizer.chat_template = {"rag": USER, "tool_use": USER}
    with pytest.raises(ModelError, match=r"rag.*tool_use.*judge\.chat_template"):
        tiny_models.judge_of(tokenizer)


def test_a_pad_token_that_is_an_ordinary_word_stays_one(model_folder: ModelFolder) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder("gpt2"))
    tokenizer.pad_token = "!"
    padded = tiny_models.judge_of(tokenizer).inner.encoder
    plain = encoder(model_folder("gpt2"))
    assert padded.encode("Hello! you") == plain.encode("Hello! you")
