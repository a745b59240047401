"""Questions, courtesies, refusals and labels do not count; whatever may be a claim does."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluator.config import LANGUAGES, find_language
from rag_evaluator.verifiers import sentences_of

ENGLISH = LANGUAGES["english"]

WHYS = ["greeting", "thanks", "introduction", "offer", "offer", *["refusal"] * 4, "question"]
NOT_COUNTED = {  # language -> a text for each of WHYS; not all have a question
    "english": [
        "Hello!",
        "Thank you for your question.",
        "Sure, here is the answer to your question:",
        "I hope this helps!",
        "Let me know if you have any other questions.",
        "I don't know.",
        "I'm sorry, but I cannot answer this question.",
        "Unfortunately, the provided documents do not say how wide the bridge is.",
        "There is no information about the bridge in the context.",
        "How wide is the bridge?",
    ],
    "german": [
        "Guten Tag!",
        "Vielen Dank für die Frage.",
        "Gerne, hier ist die Antwort auf deine Frage:",
        "Ich hoffe, das hilft dir weiter.",
        "Wenn du weitere Fragen hast, melde dich gerne.",
        "Das weiß ich leider nicht.",
        "Ich weiß nicht, wer die Brücke gebaut hat.",
        "Es tut mir leid, in den Dokumenten steht nicht, wie breit die Brücke ist.",
        "Die Dokumente enthalten keine Informationen über die Brücke.",
    ],
    "french": [
        "Bonjour !",
        "Merci pour votre question.",
        "Bien sûr, voici la réponse à votre question :",
        "J'espère que cela vous aidera.",
        "N’hésitez pas à me poser d'autres questions.",
        "Je ne sais pas.",
        "Je suis désolé, mais je ne peux pas répondre à cette question.",
        "Je suis désolé, les documents ne disent pas quelle est la largeur du pont.",
        "Il n'y a pas d'informations sur le pont dans les documents.",
    ],
    "spanish": [
        "¡Hola!",
        "Muchas gracias por tu pregunta.",
        "Claro, aquí tienes la respuesta:",
        "Espero que esto te ayude.",
        "Si tienes alguna otra pregunta, no dudes en decírmelo.",
        "No lo sé.",
        "Lo siento, pero no puedo responder a esa pregunta.",
        "Lo siento, los documentos no dicen cuánto mide de ancho el puente.",
        "No hay información sobre el puente.",
    ],
    "italian": [
        "Buongiorno!",
        "Grazie mille per la domanda.",
        "Certo, ecco la risposta alla tua domanda:",
        "Spero che questo ti aiuti.",
        "Se hai altre domande, fammi sapere.",
        "Non lo so.",
        "Mi dispiace, ma non posso rispondere a questa domanda.",
        "Mi dispiace, i documenti non dicono quanto sia largo il ponte.",
        "Non ci sono informazioni sul ponte.",
    ],
    "portuguese": [
        "Olá!",
        "Muito obrigado pela pergunta.",
        "Claro, aqui está a resposta:",
        "Espero ter ajudado.",
        "Se tiver alguma outra dúvida, fique à vontade para perguntar.",
        "Não sei.",
        "Desculpe, mas não posso responder a essa pergunta.",
        "Sinto muito, os documentos não dizem qual é a largura da ponte.",
        "Não há informações sobre a ponte.",
    ],
    "chinese": [
        "您好！",
        "感谢您的提问。",
        "好的，以下是答案：",
        "希望这对您有帮助。",
        "如果您还有其他问题，请随时告诉我。",
        "我不知道。",
        "很抱歉，我无法回答这个问题。",
        "很抱歉，文档中没有说明这座桥有多宽。",
        "没有足够的信息来回答。",
    ],
    "japanese": [
        "こんにちは。",
        "ご質問ありがとうございます。",
        "以下は回答です：",
        "お役に立てれば幸いです。",
        "他にご質問がありましたら、お気軽にお尋ねください。",
        "わかりません。",
        "申し訳ありませんが、その質問にはお答えできません。",
        "申し訳ありませんが、橋の幅がどれくらいかは文書に書かれていません。",
        "文書には橋に関する情報がありません。",
        "橋の幅はどれくらいですか？",
    ],
    "korean": [
        "안녕하세요!",
        "질문해 주셔서 감사합니다.",
        "다음은 질문에 대한 답변입니다:",
        "도움이 되었기를 바랍니다.",
        "더 궁금한 점이 있으시면 언제든지 말씀해 주세요.",
        "모르겠습니다.",
        "죄송하지만 그 질문에는 답변할 수 없습니다.",
        "죄송하지만, 문서에는 다리의 폭이 얼마인지 나와 있지 않습니다.",
        "다리에 대한 정보가 없습니다.",
    ],
    "hindi": [
        "नमस्ते!",
        "आपके प्रश्न के लिए धन्यवाद।",
        "यहाँ आपके प्रश्न का उत्तर है:",
        "आशा है कि इससे आपको मदद मिलेगी।",
        "यदि आपके कोई और प्रश्न हैं, तो कृपया बताएँ।",
        "मुझे नहीं पता।",
        "मुझे खेद है, मैं इस प्रश्न का उत्तर नहीं दे सकता।",
        "मुझे खेद है, दस्तावेज़ यह नहीं बताते कि पुल कितना चौड़ा है।",
        "दस्तावेजों में पुल के बारे में कोई जानकारी नहीं है।",
    ],
    "arabic": [
        "مرحبًا!",
        "شكرًا جزيلًا على سؤالك.",
        "بالتأكيد، إليك الإجابة:",
        "آمل أن يكون هذا مفيدًا.",
        "إذا كان لديك أي أسئلة أخرى، فلا تتردد في السؤال.",
        "لا أعرف.",
        "عذرًا، لا يمكنني الإجابة عن هذا السؤال.",
        "عذرًا، لا تذكر المستندات كم يبلغ عرض الجسر.",
        "لا توجد معلومات عن الجسر.",
        "كم يبلغ عرض الجسر؟",
    ],
}
COUNTED = {
    "english": [
        "I'm sorry, but the bridge is 30 m wide.",
        "I don't know who built it but it is green.",
        "The documents do not say who built it, only that Ana Melo painted it.",
        "The documents do not mention the bridge, which is green.",
        "Sure, here is the answer: The bridge is green.",
        "Hello, the bridge is green.",
        "If you need a permit, go to the town hall.",
        "I cannot say because the bridge was destroyed in the war.",
        "The sources do not contain lithium.",
        "There is no evidence of a bridge.",
        "It is not included in the ticket price.",
        "We could not find the bridge.",
    ],
    "german": [
        "Es tut mir leid, aber die Brücke ist 30 m breit.",
        "Leider ist die Brücke grün.",
        "Ich weiß nicht, wer sie gebaut hat, aber sie ist grün.",
        "Dank der Brücke ist der Weg kurz.",
    ],
    "french": [
        "Je suis désolé, mais le pont mesure 30 m de large.",
        "Je ne sais pas qui l'a construit, mais il est vert.",
        "Malheureusement, le pont est fermé.",
        "Merci, le pont est vert.",
    ],
    "spanish": [
        "Lo siento, pero el puente mide 30 m de ancho.",
        "No sé quién lo construyó, pero es verde.",
        "Gracias a Ana Melo el puente es verde.",
        "Lamentablemente, el puente está cerrado.",
    ],
    "italian": [
        "Mi dispiace, ma il ponte è largo 30 m.",
        "Non so chi lo abbia costruito, ma è verde.",
        "Grazie ad Ana Melo il ponte è verde.",
        "Purtroppo il ponte è chiuso.",
    ],
    "portuguese": [
        "Sinto muito, mas a ponte tem 30 m de largura.",
        "Não sei quem a construiu, mas é verde.",
        "Graças a Ana Melo a ponte é verde.",
        "Infelizmente, a ponte está fechada.",
    ],
    "chinese": [
        "很抱歉，这座桥宽30米。",
        "我不知道是谁建的，但是桥是绿色的。",
        "遗憾的是，桥已关闭。",
        "您好，这座桥是绿色的。",
    ],
    "japanese": [
        "申し訳ありませんが、橋の幅は30メートルです。",
        "橋は緑色ですが、幅は文書に書かれていません。",
        "橋は緑色ですが幅はわかりません。",
        "残念ながら、橋は閉鎖されています。",
    ],
    "korean": [
        "죄송하지만 다리의 폭은 30미터입니다.",
        "다리는 초록색이지만 폭은 문서에 나와 있지 않습니다.",
        "안타깝게도 다리는 폐쇄되었습니다.",
        "안녕하세요, 다리는 초록색입니다.",
    ],
    "hindi": [
        "मुझे खेद है, पर पुल 30 मीटर चौड़ा है।",
        "मुझे नहीं पता कि इसे किसने बनाया, लेकिन यह हरा है।",
        "दुर्भाग्य से पुल बंद है।",
        "इस लेख में पुल हरा नहीं है।",
    ],
    "arabic": [
        "عذرًا، يبلغ عرض الجسر 30 مترًا.",
        "لا أعرف من بناه، لكنه أخضر.",
        "لا أعرف من بناه والجسر أخضر.",
        "للأسف الجسر مغلق.",
    ],
}


def one(text: str, language: str) -> Any:
    """The first sentence of a text that goes on."""
    first, *_ = sentences_of(f"{text}\nEnd.", LANGUAGES[language])
    assert first.text == text
    return first


@pytest.mark.parametrize(
    ("language", "text", "why"),
    [(name, *case) for name, texts in NOT_COUNTED.items() for case in zip(texts, WHYS, strict=False)],
)
def test_what_claims_nothing_does_not_count(language: str, text: str, why: str) -> None:
    sentence = one(text, language)
    assert (sentence.counts, sentence.why) == (False, why)


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in COUNTED.items() for text in texts])
def test_a_sentence_that_may_claim_something_counts(language: str, text: str) -> None:
    sentence = one(text, language)
    assert (sentence.counts, sentence.why) == (True, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Wo ist die Brücke?!", "question"),
        ("Πού είναι η γέφυρα;", ""),
        ("Πού είναι η γέφυρα\u037e", "question"),
        ("پل کجاست؟", "question"),
        ("---", "empty"),
        ("Hello!", ""),
        ("Hej!", ""),
    ],
)
def test_in_a_language_without_phrases_only_questions_and_empty_ones_do_not_count(text: str, why: str) -> None:
    [sentence] = sentences_of(text, find_language("klingon"))
    assert (sentence.counts, sentence.why) == (not why, why)


def test_a_claim_that_was_not_divided_from_a_question_counts() -> None:
    [first, *_] = sentences_of("كان عرض الجسر مترًا. هل تريد المزيد؟", LANGUAGES["arabic"])
    assert first.counts
    assert [part.why for part in sentences_of("Where did Dr. Smith live?", ENGLISH)] == ["question"]


def test_markdown_and_citation_marks_are_left_out_and_offsets_are_those_of_the_text() -> None:
    text = (
        "# The bridge\n\nSure, here is the answer:\n\n1. **Length**: it is *very* long [1].\n"
        "2. It is `green` [2][3], [4, 5]\n"
        "   - [x] It has a [name](http://x.org/a).\n> It is old.【6】 [1](u) Yes\n\n---\n"
    )
    parts = sentences_of(text, ENGLISH)
    assert [(part.text, part.why) for part in parts] == [
        ("The bridge", "label"),
        ("Sure, here is the answer:", "introduction"),
        ("Length: it is very long.", ""),
        ("It is green", ""),
        ("It has a name.", ""),
        ("It is old.", ""),
        ("Yes", ""),
        ("---", "empty"),
    ]
    assert [text[part.start : part.end] for part in parts] == [
        "The bridge",
        "Sure, here is the answer:",
        "**Length**: it is *very* long [1].",
        "It is `green` [2][3], [4, 5]",
        "It has a [name](http://x.org/a).",
        "It is old.",
        "【6】 [1](u) Yes",
        "---",
    ]


def test_signs_that_were_divided_from_a_sentence_belong_to_it() -> None:
    parts = sentences_of("War es grün? ) Ja. )", LANGUAGES["german"])
    assert [(part.text, part.why) for part in parts] == [("War es grün?", "question"), (") Ja. )", "")]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("1. Green\n2. Long", ["Green", "Long"]),
        ("- green\n- long\r\n\n* old and\nwide. Yes", ["green", "long", "old and", "wide.", "Yes"]),
        ("1) Green\n\n2) Long", ["Green", "Long"]),
        ("3. Mai war der Tag.", ["3. Mai war der Tag."]),
        ("1. Green\n3. Mai war der Tag.", ["1. Green", "3. Mai war der Tag."]),
        ("1.5 km\n2.5 km", ["1.5 km", "2.5 km"]),
        ("1921\n1922", ["1921", "1922"]),
        ("2 * 3 * 4 = 24", ["2 * 3 * 4 = 24"]),
        ("snake_case_name and __init__ here", ["snake_case_name and __init__ here"]),
        ("**It is green. It is long.**", ["It is green.", "It is long."]),
    ],
)
def test_only_what_is_a_list_marker_or_a_markdown_sign_is_left_out(text: str, texts: list[str]) -> None:
    made = [part.text for part in sentences_of(text, LANGUAGES["german"]) if part.why != "empty"]
    assert made == texts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Main parts:\n- green", [False, True]),
        ("The green main parts:\n- green", [True, True]),
        ("## Main parts\nGreen", [False, True]),
        ("## Answer: Lisbon\nGreen", [True, True]),
        ("## It is green.\nYes", [True, True]),
        ("# Lisbon", [True]),
        ("Green\nLisbon:", [True, True]),
        ("**Width:**\nsmall", [False, True]),
        ("Sure!", [True]),
        ("Sure! It is.", [False, True]),
        ("I don't know room 12. I don't know room B [12].", [True, False]),
        (f"I don't know {'and so on ' * (30)}end.", [True]),
        ("", []),
        ("\u2028", []),
    ],
)
def test_labels_and_courtesies_before_others_without_numbers_do_not_count(text: str, counts: list[bool]) -> None:
    assert [part.counts for part in sentences_of(text, ENGLISH)] == counts


@pytest.mark.parametrize("language", NOT_COUNTED)
def test_texts_that_nearly_match_take_little_time(language: str) -> None:
    samples = [text[: len(text) // 2].rstrip("?.!。") for text in NOT_COUNTED[language]]
    text = "\n".join((sample * 300)[:299] for sample in samples)
    begin = time.perf_counter()
    sentences_of(text, LANGUAGES[language])
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize("sign", ["**a ", "![a](", "> ", "1.\n"])
def test_fifty_thousand_characters_of_signs_take_little_time(sign: str) -> None:
    begin = time.perf_counter()
    sentences_of(sign * (50_000 // len(sign)), ENGLISH)
    assert time.perf_counter() - begin < 15  # without a limit to emphasis: 22


TEXTS = "It is green.|Hello! |Who?|桥是绿色的。|您好！|क्या?|पुल हरा है। |é|e\u0301|3.5|:|…"
SIGNS = "**|*|_|`|[1]|[a](b)|- |1. |2. |# |> |①|\n|\r\n| |\u2028"
PIECES = st.sampled_from([*TEXTS.split("|"), *SIGNS.split("|")])


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=12).map("".join), st.sampled_from(sorted(LANGUAGES)))
def test_sentences_are_where_their_offsets_say_and_nothing_is_lost_between_them(text: str, language: str) -> None:
    parts = sentences_of(text, LANGUAGES[language])
    end = 0
    for part in parts:
        assert end <= part.start < part.end <= len(text)
        assert not any(map(str.isalpha, text[end : part.start]))
        whole = text[part.start : part.end]
        assert whole == whole.strip()
        letters = iter(whole)
        assert all(letter in letters for letter in part.text)
        assert len((whole + "x").splitlines()) == 1
        assert part.counts == (not part.why)
        assert not part.counts or any(map(str.isalnum, part.text))
        end = part.end
    assert not any(map(str.isalpha, text[end:]))
