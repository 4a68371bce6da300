"""The sentences of a document, English and Chinese, and what an audit says of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from benchbook.documents.findings import Finding, Kind, Passed, Severity
from benchbook.documents.formats import Block
from benchbook.documents.tables import Reading


class Sentence(NamedTuple):
    """A sentence, the line of its block, and the section that it stands in."""

    text: str
    line: int
    section: str


class NotBound(NamedTuple):
    """A sentence that says something of figures, but not of which."""

    sentence: Sentence


Outcome = Finding | Passed | NotBound
# A name may begin a sentence in a small letter, but not behind an abbreviation.
_NO_END = "".join(rf"(?<!\b{word}\.)" for word in "vs etc max min avg sec approx resp incl no fig".split())
_END = re.compile(
    rf"(?<=[.!?])\s+(?=[A-Z\d\"'(*\[])|(?<=[a-z\d%)][a-z\d%)]\.){_NO_END}\s+(?=[a-z]{{3}}|v\d)"
    r"|(?<=[。！？；;])|\n(?=\s*(?:[-*•]|\(\d+\)|\d+\.)\s)"
)


def split(read: Reading) -> list[Sentence]:
    """Return the sentences of paragraphs and list items, each with the section that it stands in."""
    return [
        Sentence(text, line, block.section)
        for block in read.blocks
        if block.kind in {"paragraph", "item"}
        for text, line in _cut(block)
    ]


_LONGEST = 2000
"""What is longer is no sentence but a pasted output: a hundred lines of one took minutes to hold against each cell."""
# What sysbench and pgbench print every few seconds: figures of an interval, near those of the whole run.
_PROGRESS = re.compile(r"\s*(?:\[ *\d+ ?s ?\]|progress: )")


def _cut(block: Block) -> Iterator[tuple[str, int]]:
    place = 0
    for text in _END.split(block.text):
        if text and text.strip() and len(text) < _LONGEST and not _PROGRESS.match(text):
            at = block.text.find(text, place)
            place = at + len(text)
            yield " ".join(text.split()), block.line + block.text.count("\n", 0, max(at, 0))


def sentence_finding(
    sentence: Sentence, kind: Kind, severity: Severity, words: str, arithmetic: list[str], sure: float
) -> Finding:
    """Return a finding about a sentence, or about a command that stands for one."""
    return Finding(
        id=f"line{sentence.line}.{kind.replace(' ', '-')}.{crc32((sentence.text + words).encode()) % 10_000}",
        where=f"line {sentence.line}{f', {sentence.section}' if sentence.section else ''}",
        kind=kind,
        severity=severity,
        sentence=words,
        arithmetic=arithmetic,
        line=sentence.line,
        printed=sentence.text if len(sentence.text) < 400 else sentence.text[:397] + "...",
        sure=sure,
    )
