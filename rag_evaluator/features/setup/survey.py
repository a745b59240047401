"""`survey`: what the first rows of a file hold, and the names that people give to columns: `recognised`."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rag_evaluator.dataset import load_records
from rag_evaluator.dataset.columns import LISTS, TEXTS, ColumnNames, accepted_names, column_names
from rag_evaluator.dataset.field import json_or_text
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.readers.table import iterate_records
from rag_evaluator.dataset.sample import Sample

WORDS: Mapping[str, str] = {
    "user_input": """question, query, input, prompt, user question, user query, pregunta, consulta,
        pregunta del usuario, requête,
        question posée, demande, frage, nutzerfrage, anfrage, domanda, quesito, richiesta, pergunta, questão,
        问题, 問題, 提问, 用户问题, 查询, 質問, 問い, クエリ, 질문, 질의, 문의, السؤال, سؤال, الاستفسار, प्रश्न, सवाल""",
    "response": """response, answer, output, result, reply, completion, prediction, generated answer, model answer,
        rag answer, actual output, respuesta, respuesta generada, respuesta del modelo, contestación,
        réponse, réponse générée, réponse du modèle, antwort, generierte antwort, antwort des modells,
        risposta, risposta generata, resposta, resposta gerada, resposta do modelo,
        回答, 答案, 答复, 回复, 模型回答, 応答, 返答, 답변, 응답, 대답, الإجابة, إجابة, الجواب, جواب, الرد,
        उत्तर, जवाब""",
    "retrieved_contexts": """retrieved contexts, contexts, context, retrieved documents, documents, docs, passages,
        passage, chunks, chunk, retrieved chunks, sources, evidence, retrieval context, source documents,
        contextos, contexto, contextos recuperados, documentos, documentos recuperados, pasajes, fragmentos, fuentes,
        contextes, contexte, contextes récupérés, extraits, kontexte, kontext, dokumente, textstellen, fundstellen,
        abschnitte, passagen, contesti, contesto, documenti, brani, passaggi, fonti, passagens, trechos, fontes,
        上下文, 检索内容, 检索结果, 检索到的上下文, 文档, 段落, コンテキスト, 文脈, 文書, 検索結果, 検索文書,
        문맥, 컨텍스트, 맥락, 문서, 검색 결과, 검색 문서, السياق, السياقات, سياق, سياقات, المستندات, الوثائق, المقاطع,
        संदर्भ, प्रसंग, दस्तावेज़, स्रोत""",
    "reference": """reference, reference answer, ground truth, ground truths, gold, gold answer, expected answer,
        expected output, expected response, correct answer, ideal answer, target,
        referencia, respuesta de referencia, respuesta correcta, respuesta esperada, respuesta ideal,
        référence, réponse de référence, réponse correcte, réponse attendue, bonne réponse,
        referenz, referenzantwort, musterantwort, musterlösung, richtige antwort, erwartete antwort, korrekte antwort,
        riferimento, risposta di riferimento, risposta corretta, risposta attesa, risposta giusta,
        referência, resposta de referência, resposta correta, resposta esperada, gabarito,
        参考答案, 标准答案, 正确答案, 参考回答, 参考, 正解, 模範解答, 参照回答, 期待される回答, 参照,
        정답, 참조 답변, 기준 답변, 모범 답안, 참조, المرجع, مرجع, الإجابة المرجعية, الإجابة الصحيحة, الإجابة المتوقعة,
        सही उत्तर, संदर्भ उत्तर, अपेक्षित उत्तर, मानक उत्तर""",
    "reference_contexts": """reference contexts, reference context, correct context, correct contexts, gold contexts,
        gold context, gold passages, relevant contexts, relevant documents, contextos de referencia, contexto correcto,
        contextos correctos, contextes de référence, contexte correct, referenzkontexte, referenzkontext,
        contesti di riferimento, contesto corretto, contextos de referência, contexto correto,
        参考上下文, 正确上下文, 参照コンテキスト, 正解文書, 참조 문맥, 정답 문서, السياقات المرجعية, السياق الصحيح,
        सही संदर्भ""",
}
"""Canonical column -> what people call it, compared without case, accents, blanks and signs."""

NUMBER = re.compile(r"\d+$")


def key_of(name: str) -> str:
    """A name as it is compared with others: `¿Pregunta?` and `PREGUNTA` are the same."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


BY_KEY = {key_of(word): canonical for canonical, words in WORDS.items() for word in words.split(",")}


def recognised(names: Iterable[str]) -> dict[str, str]:
    """The `columns` of a configuration for the names of a file, without those that are read as they are.

    Where several names may be the same column, the one that is read anyway counts, else the first; of contexts in
    numbered columns (`chunk_1`, `chunk_2`) all count, in the order of their numbers. Else the order is the file's.
    """
    names = list(names)
    mapping: dict[str, str] = {}
    for canonical in WORDS:
        read = [name for name in accepted_names(canonical) if name in names]
        similar = [name for name in names if BY_KEY.get(key_of(name)) == canonical]
        numbered = sorted((name for name in names if _is_numbered(name, canonical)), key=_number)
        if canonical in read or (len(read) == 1 and not numbered):
            continue
        if chosen := numbered if canonical in LISTS and not similar else [*read, *similar][:1]:
            mapping |= dict.fromkeys(chosen, canonical)
    first = {
        canonical: min(names.index(name) for name in mapping if mapping[name] == canonical)
        for canonical in WORDS
        if canonical in mapping.values()
    }
    return dict(sorted(mapping.items(), key=lambda item: first[item[1]]))


def _is_numbered(name: str, canonical: str) -> bool:
    key = key_of(name)
    return NUMBER.search(key) is not None and BY_KEY.get(NUMBER.sub("", key)) == canonical


def _number(name: str) -> int:
    match = NUMBER.search(key_of(name))
    return int(match[0]) if match else 0


MOST = 1000  # rows that are looked at
MARKS = ("|||", "||", "<sep>", "<SEP>", "[SEP]", "###", "@@", ";;", "\n---\n", "\n***\n", "¶", " | ", " // ")
"""What people put between the contexts of a cell; the longer ones first."""
PARAGRAPHS = "\n\n"  # between contexts, or between the paragraphs of one
ENOUGH = 0.5  # of the cells


@dataclass(frozen=True)
class Survey:
    """What the first rows of a file hold.

    Attributes:
        columns: of the configuration, without names that are read as they are.
        names: canonical column -> the user's columns that it is read from.
        unused: the user's other columns.
        present: canonical columns that some row has something in.
        samples: the rows, at most `MOST`.
        is_all: whether the file has no more.
        paragraphs: columns of contexts whose cells hold one text with blank lines in it.
    """

    columns: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    unused: Sequence[str]
    present: Sequence[str]
    samples: Sequence[Sample]
    is_all: bool
    paragraphs: Sequence[str]


def survey(path: Path, columns: Mapping[str, str] | None = None) -> Survey:
    """Look at the first rows of a file.

    Args:
        columns: those that the user has named; they win.

    Raises `DatasetError` if it cannot be read, or a text or context in it cannot be read without guessing.
    """
    name, records = iterate_records(path)
    first = list(islice(records, MOST + 1))
    rows, user_columns = first[:MOST], columns or {}
    names_in_file = column_names(record.row for record in rows)
    taken = {to.partition("[")[0] for to in user_columns.values()}
    guessed = {
        name: to for name, to in recognised(names_in_file).items() if name not in user_columns and to not in taken
    }
    mapping = _with_marks({**user_columns, **guessed}, rows, names_in_file)
    names = ColumnNames(mapping)
    if names.is_log(names_in_file):
        names = ColumnNames({**names.mapping, "reference": "retrieved_contexts"})
    samples = load_records(name, rows, mapping, TEXTS)
    present = [column for column in ALL if any(column in sample.columns for sample in samples)]
    read = {column: _read_from(column, names, names_in_file) for column in present}
    used = {name for columns in read.values() for name in columns}
    return Survey(
        columns=mapping,
        names=read,
        unused=[name for name in names_in_file if name not in used],
        present=present,
        samples=samples,
        is_all=len(first) <= MOST,
        paragraphs=[name for name in names_in_file if name in used and _is_text_with(PARAGRAPHS, name, read, rows)],
    )


ALL = (*TEXTS, "retrieved_context_ids", "reference_context_ids", "document_score", "answerable", "rubrics")


def _read_from(canonical: str, names: ColumnNames, present: Sequence[str]) -> list[str]:
    """The user's columns that may be read as a canonical one."""
    mapped = [name for name, to in names.mapping.items() if to == canonical]
    return mapped or [name for name in accepted_names(canonical) if name in present and name not in names.mapping]


def _with_marks(mapping: Mapping[str, str], rows: Sequence[InputRecord], present: Sequence[str]) -> dict[str, str]:
    """The mapping with the mark between the contexts of a cell, where there is one."""
    marked = dict(mapping)
    for canonical in LISTS:
        for name in _read_from(canonical, ColumnNames(mapping), present):
            mark = _mark(_texts(name, rows)) if "[" not in marked.get(name, "") else None
            if mark:
                marked[name] = f"{canonical}[{mark.strip(' ')}]"
    return marked


def _texts(name: str, rows: Iterable[InputRecord]) -> list[str]:
    """The cells of a column that are texts, not lists."""
    values = (json_or_text(record.row.get(name), True) for record in rows)
    return [value for value in values if isinstance(value, str) and value.strip()]


def _mark(texts: Sequence[str]) -> str | None:
    return next((mark for mark in MARKS if sum(mark in text for text in texts) > ENOUGH * len(texts)), None)


def _is_text_with(mark: str, name: str, read: Mapping[str, Sequence[str]], rows: Iterable[InputRecord]) -> bool:
    if not any(name in read.get(canonical, ()) for canonical in LISTS):
        return False
    texts = _texts(name, rows)
    return sum(mark in text.strip() for text in texts) > ENOUGH * len(texts)
