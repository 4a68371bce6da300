"""How far a sentence says that two things are apart: "30% faster than", "twice the throughput", "the gap shrinks to 10%"."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from benchbook.documents.numerals import figures

UP = r"ahead|faster|quicker|higher|more|greater|larger|longer|better|increas\w+|improv\w+|gains?|grow\w*|grew|rais\w+|ris\w+|rose|boost\w*|speed-?up|提升|提高|增加|增长|上升|高出"
DOWN = r"behind|slower|fewer|less|lower|smaller|shorter|cheaper|worse|reduc\w+|decreas\w+|declin\w+|drop\w*|degrad\w+|fall\w*|fell|cuts?|sav(?:es?|ed|ing)|los(?:es?|t|ing)|shr[iu]nk\w*|下降|减少|降低|缩短"
APART = r"differ\w*|difference|gap|advantage|margin|lead"
_BELOW = r"(?:less than|under|below|within|at most) "
_ABOUT = rf"(?:{_BELOW}|about |around |roughly |approximately |nearly |almost |over |more than |at least |up to |as much as |an average of |only |just |~\s?|约|大约|近|超过|至少|最多|高达|了|至原来的)*"
_N = r"(?P<n>\d[\d,]*(?:\.\d+)?)(?:\s?%?\s?(?:[~–—-]|to)\s?(?P<m>\d[\d,]*(?:\.\d+)?))?\s?(?P<u>%|％|percent|[x×X](?![A-Za-z])|times|倍)"
_AMOUNT = rf"(?P<about>{_ABOUT}){_N}"


_LOADS = "threads?|clients?|connections?|workers?|users|nodes?|cores?|servers?|warehouses"


class Form(NamedTuple):
    """A way to say how far two things are apart; `example` matches."""

    pattern: re.Pattern[str]
    example: str


FORMS = [
    Form(re.compile(pattern, re.IGNORECASE), example)
    for pattern, example in [
        (rf"{_AMOUNT}\s?(?:(?!of\b|the\b|and\b|or\b)[a-z]+\s){{0,2}}?(?P<way>{UP}|{DOWN})", "v2 is 30% faster"),
        (
            rf"\b(?P<way>{UP}|{DOWN}|differ)(?:\s(?:[\w.-]+\s){{0,8}}?by\s|\s?){_AMOUNT}",
            "reduces the size on disk by 60%",
        ),
        (rf"\b(?P<way>costs)\s{_AMOUNT}\sof\b", "compression costs 12% of the throughput"),
        (rf"\b(?P<way>{APART})\b[^.;%]{{0,40}}?\b(?:is|was|are|of|by|to)\s{_AMOUNT}", "the gap shrinks to 10%"),
        (
            rf"{_AMOUNT}\s(?P<way>the|that|those|of|its|as)\b(?!\s(?:many |number of |concurrent )*(?:{_LOADS})\b)",
            "twice the throughput, 3 times as fast as",
        ),
    ]
]
_HOW_FAR = re.compile(r"\d\s?(?:%|％|percent|[x×X](?![A-Za-z])|times|倍)", re.IGNORECASE)
COUNTS = "one two three four five six seven eight nine ten eleven twelve".split()
_PARTS = {
    "half": 0.5,
    "a third": 0.333,
    "one third": 0.333,
    "a quarter": 0.25,
    "one quarter": 0.25,
    "a fifth": 0.2,
    "a tenth": 0.1,
}
_PART = "|".join(_PARTS)
Words = str | Callable[[re.Match[str]], str]
IN_FIGURES: list[tuple[str, Words]] = [
    (rf"\b(?<=by )(?:about |almost |nearly )?({_PART})\b(?! an? )", lambda m: f"~{_PARTS[m[1].lower()] * 100:.0f}%"),
    (
        rf"\b(saves?|saved|loses?|lost|cuts?) (?:about |almost |nearly )?({_PART})\b",
        lambda m: f"{m[1]} ~{_PARTS[m[2].lower()] * 100:.0f}%",
    ),
    (r"\bin half\b", "by ~50%"),
    (rf"\b({_PART})(?= (?:the|that|of|its|as)\b)", lambda m: f"~{_PARTS[m[1].lower()]:g} times"),
    (r"\bhalv(?:es|ed)\b", "has ~0.5 times the"),
    (r"\b(?:doubl(?:es?|ed))\b", "has ~2 times the"),
    (r"\btwice\b", "~2 times"),
    (r"\btripl(?:es?|ed)\b", "has ~3 times the"),
    (r"\bquadrupl(?:es?|ed)\b", "has ~4 times the"),
    (
        rf"(?<=\b(?:with|from) )one\b|(?<=\b(?:of|to|by|at|on) )one\b|\b(?:{'|'.join(COUNTS[1:])})(?=\b|fold)",
        lambda m: str(COUNTS.index(m[0].lower()) + 1),
    ),
    (r"\b(\d+(?:\.\d+)?)-?fold\b", r"\1 times the"),
    (r"\bfactor of (\d+(?:\.\d+)?)", r"\1 times the"),
    (r"\b(multipl\w+ [^.;,]{0,60}? by) (\d+(?:\.\d+)?)", r"\1 \2 times the"),
]
"""Amounts that are told in words, and how they are written in figures; in this order."""
_IN_FIGURES = [(re.compile(pattern, re.IGNORECASE), words) for pattern, words in IN_FIGURES]


def way_of(word: str) -> str:
    """Return whether a word says that a figure is "more" or "less", or that what it means is "better" or "worse"."""
    if re.search(r"faste|quick|better|\bbest|improv|gain|boost|speed|提升|提高|beat|outperform|优于|好于", word):
        return "better"
    if re.search(r"slowe|worse|\bworst|degrad", word):
        return "worse"
    return "less" if re.search(f"{DOWN}|lowest|smallest|shortest|fewest|least|costs", word) else "more"


@cache
def in_figures(text: str) -> str:
    """Return a text with the amounts in it that are told in words as figures: "twice as fast" as "~2 times as fast"."""
    for pattern, words in _IN_FIGURES:
        text = pattern.sub(words, text)
    return text


class Gap(NamedTuple):
    """What a sentence says of two things: between `low` and `high` percent (or times) apart, and which way."""

    low: float
    high: float
    times: bool
    way: str
    """ "more", "less" for figures; "better", "worse" for what they mean."""
    about: bool
    place: float
    printed: str
    exact: bool
    """Whether "3 times" are that, and not perhaps 3 times more: four times as much."""


def gaps(text: str) -> list[Gap]:
    """Return what a sentence, its amounts in figures, says of how far two things are apart."""
    found: dict[int, Gap] = {}
    for number, (pattern, _) in enumerate(FORMS if _HOW_FAR.search(text) else ()):
        for match in pattern.finditer(text):
            low = figures(match["n"])
            high = figures(match["m"]) if match["m"] else low
            times = match["u"].lower() in {"x", "×", "times", "倍"}
            if (
                not low
                or not high
                or any(at <= match.start("n") < at + 4 for at in found)
                or (pattern is FORMS[-1].pattern and not times)
                or re.search(r"(?:from|从)\s?$", text[: match.start("n")])
            ):
                continue
            word = match["way"].lower()
            exact = number >= len(FORMS) - 2
            way = "" if exact or word.startswith("differ") else way_of(word)
            least, most = low[0].value, high[0].value
            if times and 0 < least < 1:
                least, most = 1 / most, 1 / least
            if re.search(_BELOW, match["about"], re.IGNORECASE):
                least = 0.0
            about = bool(match["about"].strip("了 ")) or bool(match["m"])
            # Words are round: "twice" is about 2.
            place = 0.0 if "~" in match["about"] else low[0].place / 2 if times else low[0].place
            found[match.start("n")] = Gap(
                least, most, times, way, about, min(place, least / 2), match[0].strip(), exact
            )
    return [found[at] for at in sorted(found)]
