"""What label sheets say to the people who fill them in, in their language."""

from collections.abc import Mapping
from dataclasses import dataclass

from rag_evaluator.labels.words import WORDS


@dataclass(frozen=True)
class Texts:
    """The sentences of a language.

    Attributes:
        steps: how to fill in a sheet.
        grades: of metrics with grades; `{low}` and `{high}` are the ends.
        questions: by what a metric asks for; `{metric}` is its name.
    """

    steps: tuple[str, str, str, str]
    grades: str
    questions: Mapping[str, str]


ASKS = ("supported", "answers", "correct", "relevant", "complete", "refusal", "errors", "other")
ASKED_BY: Mapping[str, str] = {
    "faithfulness": "supported",
    "response_groundedness": "supported",
    "answer_relevancy": "answers",
    "answer_correctness": "correct",
    "factual_correctness": "correct",
    "answer_accuracy": "correct",
    "semantic_similarity": "correct",
    "context_relevance": "relevant",
    "context_relevancy": "relevant",
    "context_precision_with_reference": "relevant",
    "context_precision_without_reference": "relevant",
    "context_recall": "complete",
    "refusal_correctness": "refusal",
    "noise_sensitivity": "errors",
}


def _texts(steps: tuple[str, str, str, str], grades: str, *questions: str) -> Texts:
    return Texts(steps, grades, dict(zip(ASKS, questions, strict=True)))


TEXTS: Mapping[str, Texts] = {
    "english": _texts(
        (
            "Answer the questions below for every row, each in the column of its name: choose an answer from the list.",
            "Leave the cell empty if you cannot decide.",
            "Judge by the texts in the row only, not by what you know yourself.",
            "Work alone, and do not change other columns.",
        ),
        "{low} is the worst grade, {high} the best.",
        "Does everything that the response says follow from the contexts?",
        "Does the response answer the question, whether the answer is right or wrong?",
        "Does the response say the same as the reference?",
        "Do the contexts help to answer the question?",
        "Do the contexts contain everything that the reference says?",
        "Was it right to answer, or right to refuse to answer?",
        "Is the response free of wrong statements?",
        "Is this row good by the measure '{metric}'?",
    ),
    "arabic": _texts(
        (
            "أجب عن الأسئلة أدناه لكل صف، كل سؤال في العمود الذي يحمل اسمه: اختر إجابة من القائمة.",
            "اترك الخلية فارغة إذا لم تستطع أن تقرر.",
            "احكم بناءً على نصوص الصف فقط، لا على ما تعرفه أنت.",
            "اعمل بمفردك، ولا تغيّر الأعمدة الأخرى.",
        ),
        "{low} هي أسوأ درجة، و{high} هي أفضل درجة.",
        "هل كل ما تقوله الإجابة يستند إلى السياقات؟",
        "هل تجيب الإجابة عن السؤال، سواء كانت صحيحة أم خاطئة؟",
        "هل تقول الإجابة الشيء نفسه الذي تقوله الإجابة المرجعية؟",
        "هل تساعد السياقات على الإجابة عن السؤال؟",
        "هل تحتوي السياقات على كل ما تقوله الإجابة المرجعية؟",
        "هل كان من الصواب أن يجيب، أو من الصواب أن يمتنع عن الإجابة؟",
        "هل تخلو الإجابة من العبارات الخاطئة؟",
        "هل هذا الصف جيد وفق المقياس '{metric}'؟",
    ),
    "chinese": _texts(
        (
            "请针对每一行回答下面的问题，并在与问题同名的列中从列表里选择答案。",
            "如果无法判断，请将单元格留空。",
            "只根据该行中的文本判断，不要根据您自己的知识判断。",
            "请独立完成，不要修改其他列。",
        ),
        "{low} 为最差等级，{high} 为最好等级。",
        "回答中的所有内容是否都能从上下文中得出？",
        "回答是否回应了问题（无论答案对错）？",
        "回答与参考答案所说的是否一致？",
        "这些上下文是否有助于回答问题？",
        "参考答案所说的一切是否都包含在上下文中？",
        "作出回答或拒绝回答的选择是否正确？",
        "回答中是否没有错误的陈述？",
        "按照指标“{metric}”，这一行是否好？",
    ),
    "french": _texts(
        (
            "Pour chaque ligne, répondez aux questions ci-dessous, chacune dans la colonne qui porte son nom : "
            "choisissez une réponse dans la liste.",
            "Laissez la cellule vide si vous ne pouvez pas décider.",
            "Jugez uniquement d'après les textes de la ligne, et non d'après ce que vous savez vous-même.",
            "Travaillez sans consulter les autres, et ne modifiez pas les autres colonnes.",
        ),
        "{low} est la plus mauvaise note, {high} la meilleure.",
        "Tout ce que dit la réponse découle-t-il des contextes ?",
        "La réponse répond-elle à la question, qu'elle soit juste ou fausse ?",
        "La réponse dit-elle la même chose que la référence ?",
        "Les contextes aident-ils à répondre à la question ?",
        "Les contextes contiennent-ils tout ce que dit la référence ?",
        "Fallait-il répondre, ou refuser de répondre, comme cela a été fait ?",
        "La réponse est-elle exempte d'affirmations fausses ?",
        "Cette ligne est-elle bonne selon la mesure « {metric} » ?",
    ),
    "german": _texts(
        (
            "Beantworten Sie für jede Zeile die Fragen unten, jede in der Spalte mit ihrem Namen: Wählen Sie eine "
            "Antwort aus der Liste.",
            "Lassen Sie die Zelle leer, wenn Sie sich nicht entscheiden können.",
            "Urteilen Sie nur nach den Texten in der Zeile, nicht nach dem, was Sie selbst wissen.",
            "Arbeiten Sie allein und ändern Sie keine anderen Spalten.",
        ),
        "{low} ist die schlechteste Note, {high} die beste.",
        "Folgt alles, was die Antwort sagt, aus den Kontexten?",
        "Beantwortet die Antwort die Frage, ob richtig oder falsch?",
        "Sagt die Antwort dasselbe wie die Referenz?",
        "Helfen die Kontexte, die Frage zu beantworten?",
        "Enthalten die Kontexte alles, was die Referenz sagt?",
        "War es richtig zu antworten oder richtig, nicht zu antworten?",
        "Ist die Antwort frei von falschen Aussagen?",
        "Ist diese Zeile nach dem Maß „{metric}“ gut?",
    ),
    "hindi": _texts(
        (
            "हर पंक्ति के लिए नीचे दिए गए प्रश्नों के उत्तर दें, हर प्रश्न का उत्तर उसी नाम के कॉलम में: सूची से एक उत्तर चुनें।",
            "यदि आप तय नहीं कर सकते, तो खाना खाली छोड़ दें।",
            "केवल पंक्ति में दिए गए पाठों के आधार पर निर्णय लें, अपनी जानकारी के आधार पर नहीं।",
            "अकेले काम करें और दूसरे कॉलम न बदलें।",
        ),
        "{low} सबसे ख़राब और {high} सबसे अच्छी श्रेणी है।",
        "क्या उत्तर में कही गई हर बात संदर्भों से निकलती है?",
        "क्या उत्तर प्रश्न का जवाब देता है, चाहे जवाब सही हो या ग़लत?",
        "क्या उत्तर वही कहता है जो संदर्भ-उत्तर कहता है?",
        "क्या संदर्भ प्रश्न का उत्तर देने में मदद करते हैं?",
        "क्या संदर्भों में वह सब कुछ है जो संदर्भ-उत्तर कहता है?",
        "क्या उत्तर देना, या उत्तर देने से मना करना, सही था?",
        "क्या उत्तर में कोई ग़लत कथन नहीं है?",
        "क्या यह पंक्ति माप '{metric}' के अनुसार अच्छी है?",
    ),
    "italian": _texts(
        (
            "Per ogni riga risponda alle domande qui sotto, ciascuna nella colonna con il suo nome: scelga una "
            "risposta dall'elenco.",
            "Lasci la cella vuota se non riesce a decidere.",
            "Giudichi solo in base ai testi della riga, non in base a ciò che sa.",
            "Lavori da solo o da sola e non modifichi le altre colonne.",
        ),
        "{low} è il voto peggiore, {high} il migliore.",
        "Tutto ciò che dice la risposta segue dai contesti?",
        "La risposta risponde alla domanda, sia essa giusta o sbagliata?",
        "La risposta dice la stessa cosa del riferimento?",
        "I contesti aiutano a rispondere alla domanda?",
        "I contesti contengono tutto ciò che dice il riferimento?",
        "È stato giusto rispondere, oppure giusto rifiutarsi di rispondere?",
        "La risposta è priva di affermazioni false?",
        "Questa riga è buona secondo la misura «{metric}»?",
    ),
    "japanese": _texts(
        (
            "各行について下の質問に答えてください。質問と同じ名前の列で、リストから答えを選びます。",
            "判断できない場合は、セルを空のままにしてください。",
            "ご自身の知識ではなく、その行の文章だけに基づいて判断してください。",
            "一人で作業し、他の列は変更しないでください。",
        ),
        "{low} が最も悪く、{high} が最も良い評価です。",
        "回答の内容はすべて文脈から導けますか。",
        "正誤にかかわらず、回答は質問に答えていますか。",
        "回答は参照解答と同じことを述べていますか。",
        "文脈は質問に答えるのに役立ちますか。",
        "参照解答の内容はすべて文脈に含まれていますか。",
        "答えたこと、または答えるのを控えたことは適切でしたか。",
        "回答には誤った記述がありませんか（ない場合は「はい」）。",
        "指標「{metric}」から見て、この行は良いですか。",
    ),
    "korean": _texts(
        (
            "각 행에 대해 아래 질문에 답하십시오. 질문과 이름이 같은 열의 목록에서 답을 고르십시오.",
            "결정할 수 없으면 셀을 비워 두십시오.",
            "자신이 아는 것이 아니라 그 행에 있는 글만 보고 판단하십시오.",
            "혼자서 작업하고 다른 열은 바꾸지 마십시오.",
        ),
        "{low}이(가) 가장 나쁜 등급이고 {high}이(가) 가장 좋은 등급입니다.",
        "답변의 모든 내용이 문맥에서 나옵니까?",
        "맞든 틀리든 답변이 질문에 답하고 있습니까?",
        "답변이 참조 답변과 같은 말을 합니까?",
        "문맥이 질문에 답하는 데 도움이 됩니까?",
        "참조 답변이 말하는 모든 것이 문맥에 들어 있습니까?",
        "답한 것, 또는 답하지 않은 것이 옳았습니까?",
        "답변에 잘못된 진술이 없습니까? (없으면 ‘예’)",
        "지표 '{metric}'에 따르면 이 행은 좋습니까?",
    ),
    "portuguese": _texts(
        (
            "Para cada linha, responda às perguntas abaixo, cada uma na coluna com o seu nome: escolha uma resposta da "
            "lista.",
            "Deixe a célula vazia se não conseguir decidir.",
            "Julgue apenas pelos textos da linha, não pelo que você sabe.",
            "Trabalhe sem consultar outras pessoas e não altere as outras colunas.",
        ),
        "{low} é a pior nota, {high} a melhor.",
        "Tudo o que a resposta diz decorre dos contextos?",
        "A resposta responde à pergunta, esteja certa ou errada?",
        "A resposta diz o mesmo que a referência?",
        "Os contextos ajudam a responder à pergunta?",
        "Os contextos contêm tudo o que a referência diz?",
        "Foi correto responder, ou correto recusar-se a responder?",
        "A resposta está livre de afirmações falsas?",
        "Esta linha é boa segundo a medida «{metric}»?",
    ),
    "spanish": _texts(
        (
            "Responda para cada fila a las preguntas de abajo, cada una en la columna con su nombre: elija una "
            "respuesta de la lista.",
            "Deje la celda vacía si no puede decidir.",
            "Juzgue solo por los textos de la fila, no por lo que usted sabe.",
            "Trabaje sin consultar a otras personas y no cambie las demás columnas.",
        ),
        "{low} es la peor nota y {high} la mejor.",
        "¿Todo lo que dice la respuesta se sigue de los contextos?",
        "¿La respuesta contesta a la pregunta, sea correcta o no?",
        "¿La respuesta dice lo mismo que la referencia?",
        "¿Los contextos ayudan a responder a la pregunta?",
        "¿Los contextos contienen todo lo que dice la referencia?",
        "¿Fue correcto responder, o correcto negarse a responder?",
        "¿La respuesta está libre de afirmaciones falsas?",
        "¿Es buena esta fila según la medida «{metric}»?",
    ),
}


def question_of(metric: str, language: str) -> str:
    """What is asked of people for a metric; in English where the language has no texts."""
    asked = ASKED_BY.get(metric, "other")
    return texts_of(language).questions[asked].format(metric=metric)


def texts_of(language: str) -> Texts:
    """The texts of a language, English ones where it has none."""
    return TEXTS.get(language, TEXTS["english"])


def choices_of(language: str, low: float, high: float) -> list[str | int]:
    """What a cell offers: yes and no in the language, or the grades of a scale that is not 0 to 1 or -1 to 1."""
    if low >= 1:
        return list(range(round(low), round(high) + 1))
    words = WORDS.get(language, WORDS["english"])
    return [words.accept[0], words.reject[0]]
