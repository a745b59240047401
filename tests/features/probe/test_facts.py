"""Numbers and names that the probes find in texts, in the languages of the packs."""

import pytest

from rag_evaluator.config import find_language
from rag_evaluator.features.probe.facts import Names, numbers

NUMBERS = [
    (
        "english",
        "In 1998 it built 3,450 houses, 12% of them from 1870 to 1939.",
        ["1998", "3,450", "12", "1870", "1939"],
    ),
    ("german", "Im Jahr 1998 waren es 3.450 Häuser, am 5. Mai etwa 12,5 %.", ["1998", "3.450", "5", "12,5"]),
    ("spanish", "En 1998 construyó 3 450 casas y 12,5 % de pisos.", ["1998", "3 450", "12,5"]),
    ("chinese", "该公司于1998年建造了3,450座房屋，占12.5%。", ["1998", "3,450", "12.5"]),
    ("korean", "이 회사는 1998년에 집 3,450채를 지었다.", ["1998", "3,450"]),
    ("arabic", "بنت الشركة عام ١٩٩٨ نحو ٣٬٤٥٠ منزلا.", ["١٩٩٨", "٣٬٤٥٠"]),
]
LEFT_OUT = [
    ("english", "Level B2 of the 1990s on 12/05/2001 with X.25, COVID-19 and 24–10."),
    ("english", "It has more than 70 rooms, up to 80 guests, 90 or more chairs, and stood before 1950."),
    ("english", "The sum is x + 5 and the gas is O 2."),
    ("german", "Es sind mehr als 70 Räume, mindestens 80 Gäste, seit 1950."),
    ("spanish", "Tiene más de 70 salas, hasta 80 plazas, desde 1950."),
    ("french", "Il a plus de 70 salles, au moins 80 places, depuis 1950."),
    ("italian", "Ha più di 70 sale, almeno 80 posti."),
    ("portuguese", "Tem mais de 70 salas, pelo menos 80 lugares."),
    ("chinese", "有超过70个房间，80人以上，10亿年前。"),
    ("chinese", "兴趣在 40 年代以来再度升温。"),
    ("japanese", "部屋は70室以上、定員は80人以下。"),
    ("korean", "방이 70개 이상이고 정원은 80명 이하다."),
    ("hindi", "इसमें 70 से अधिक कमरे हैं।"),
    ("arabic", "فيه أكثر من 70 غرفة، منذ عام 1950."),
]
NAMES = [
    (
        "english",
        "The engineer Lira Vosk was born in Tesk. She built the Harn Bridge for J. R. Orman's son.",
        ["Lira Vosk", "Tesk", "Harn Bridge", "J. R. Orman"],
    ),
    ("english", "The town of Tesk (Orman) is by the Selo 12 and Orman-3, in May.", ["Tesk"]),
    ("german", "Sie lebte mit Lira Vosk nahe New Holland.", ["Lira Vosk", "New Holland"]),
    ("german", "Sie ging in Richtung Süden, fand ein Stück Papier und das verlassene Haus Dach.", []),
    ("spanish", "La ingeniera Lira Vosk construyó el puente de Nueva Harna.", ["Lira Vosk", "Nueva Harna"]),
    ("french", "L'ingénieure Lira Vosk est née à Tesk.", ["Lira Vosk", "Tesk"]),
    ("chinese", "工程师莉拉写了《大桥之歌》，并加入了IPCC组织和Level 3公司（ABC）。", ["大桥之歌", "IPCC"]),
    ("japanese", "技師リラは「橋の歌」を書き、IPCCに加わった。", ["橋の歌", "IPCC"]),
    ("korean", "기술자 리라는 IPCC 에 가입했다.", ["IPCC"]),
    ("arabic", "عملت المهندسة ليرا في IPCC مع شركة Tesk.", ["IPCC", "Tesk"]),
]


@pytest.mark.parametrize(("language", "text", "expected"), NUMBERS)
def test_numbers_are_found_where_they_are(language: str, text: str, expected: list[str]) -> None:
    found = numbers(text, find_language(language))
    assert [fact.text for fact in found] == expected
    assert [text[fact.start : fact.end] for fact in found] == expected


@pytest.mark.parametrize(("language", "text"), LEFT_OUT)
def test_limits_codes_dates_in_digits_and_formulas_are_no_numbers_to_change(language: str, text: str) -> None:
    assert numbers(text, find_language(language)) == []


@pytest.mark.parametrize(("language", "text", "expected"), NAMES)
def test_names_are_found_where_they_are(language: str, text: str, expected: list[str]) -> None:
    found = Names([text], find_language(language)).of(text)
    assert [fact.text for fact in found] == expected
    assert [text[fact.start : fact.end] for fact in found] == expected


@pytest.mark.parametrize(
    ("first", "second", "shapes"),
    [
        *((first, second, 1) for first, second in (("1998", "1870"), ("5", "12"), ("13", "31"), ("3,450", "1,200"))),
        *((first, second, 2) for first, second in (("1998", "998"), ("5", "31"), ("12", "08"), ("٥", "5"), ("0", "5"))),
        ("3,450", "3.450", 2),
    ],
)
def test_numbers_that_can_replace_each_other_have_the_same_shape(first: str, second: str, shapes: int) -> None:
    assert len({fact.shape for fact in numbers(f"{first}; {second}", find_language("arabic"))}) == shapes


def test_a_language_that_is_not_known_is_read_as_one_with_capital_letters() -> None:
    text = "Lo injenir Lira Vosk naskis en Tesk en 1998."
    assert [fact.text for fact in Names([text], find_language("ido")).of(text)] == ["Lira Vosk", "Tesk"]
    assert [fact.text for fact in numbers(text, find_language("ido"))] == ["1998"]
