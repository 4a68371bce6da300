"""Sentences whose truth is known: how many does `benchbook audit` hold against the cells that they speak of?"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchbook.documents.findings import Finding
from benchbook.documents.passages import NotBound
from benchbook.documents.relations import relations
from benchbook.documents.sentences import by_sentence
from benchbook.documents.tables import reading

DOCUMENTS = Path(__file__).parent / "sentences"
_MARKED = re.compile(r"\{([+-])(.*?)[+-]\}", re.DOTALL)


def measure(console: Console) -> dict[str, Any]:
    """the share of sentences, true and false, that an audit binds to their cells and judges rightly"""
    result: dict[str, Any] = {}
    for folder in sorted(DOCUMENTS.iterdir()):
        counted, missed = Counter[str](), []
        for file in sorted(folder.glob("*.md")):
            for kind, text in _judged(file):
                counted[kind] += 1
                missed += [f"{file.name}: {kind}: {text}"] if kind != "right" else []
        console.print(f"{folder.name}: {dict(counted)}")
        result[folder.name] = {**counted, "missed": missed}
    return result


def _judged(file: Path) -> list[tuple[str, str]]:
    """Return each marked sentence as what came of it, and all findings elsewhere as "false finding"."""
    text = file.read_text()
    truth = {" ".join(said.split()): mark == "+" for mark, said in _MARKED.findall(text)}
    with TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        copy.write_text(_MARKED.sub(r"\2", text))
        read = reading(str(copy))
    found = []
    for sentence, outcomes in by_sentence(read):
        said = truth.pop(sentence.text, None)
        # That a percentage is possible is said of no cell.
        bound = [one for one in outcomes if not isinstance(one, NotBound) and one.kind != "impossible"]
        holds = not any(isinstance(one, Finding) for one in outcomes)
        if said is None:
            found += [] if holds else [("false finding", sentence.text)]
        else:
            wrong = "passed though false" if holds else "false finding"
            kind = "not bound" if not bound else "right" if holds == said else wrong
            found.append((kind, sentence.text))
    assert not truth, truth
    found += [
        ("false finding", one.sentence)
        for one in relations(read)
        if isinstance(one, Finding) and one.severity != "note"
    ]
    return found
