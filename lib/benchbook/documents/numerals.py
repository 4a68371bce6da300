"""Printed figures: `12,000`, `15.10k`, `0.07 ms`, `~2.4x`, `50-200us`, `(3.42)`, `4m12s`, `1.5万`.

A figure keeps its printed text and the interval of values that would have been printed alike. What is not understood
gives no figure: a wrong number is worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, NamedTuple

Style = Literal["point", "comma"]
Kind = Literal["number", "about", "range", "bound"]

MINUS = "−–—‐‑‒﹣－-"  # the hyphen last: they stand in character classes
# Those that are of no width stand in cells that were copied from a page.
_BLANKS = " \u00a0\u202f\u2009\u2007\u2005\u2006\u2008\u200a\u3000\u200b\u200c\u200d\u2060\ufeff"
_APOSTROPHES = "'’‘ʼ′˙٬"
MAGNITUDES: dict[str, float] = {
    **dict.fromkeys(["k", "K", "thousand", "千"], 1e3),
    **dict.fromkeys(["M", "m", "mn", "mil", "million", "百万"], 1e6),
    **dict.fromkeys(["G", "B", "bn", "billion"], 1e9),
    **{"万": 1e4, "lakh": 1e5, "crore": 1e7, "亿": 1e8, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30},
}

# What follows a numeral, to the unit that it is kept in. Longest first; the first that fits counts.
UNITS: dict[str, str] = {
    **dict.fromkeys(["ns", "nsec", "nanoseconds", "纳秒"], "ns"),
    **dict.fromkeys(["us", "µs", "μs", "usec", "usecs", "microseconds", "microsecond", "微秒"], "us"),
    **dict.fromkeys(["ms", "msec", "msecs", "millis", "milliseconds", "millisecond", "毫秒"], "ms"),
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds", "秒"], "s"),
    **dict.fromkeys(["min", "mins", "minute", "minutes", "分钟"], "min"),
    **dict.fromkeys(["h", "hr", "hrs", "hour", "hours", "小时"], "h"),
    **dict.fromkeys(["%", "％", "percent", "per cent"], "%"),
    **dict.fromkeys(["x", "X", "×", "times", "倍"], "x"),
    **dict.fromkeys(["B", "byte", "bytes", "Bytes", "字节"], "B"),
    **dict.fromkeys(["KB", "kB", "kb", "KBytes", "kbytes"], "kB"),
    **dict.fromkeys(["MB", "Mb", "mb", "MBytes", "mbytes"], "MB"),
    **dict.fromkeys(["GB", "gb", "Gb", "GBytes"], "GB"),
    **dict.fromkeys(["TB", "tb"], "TB"),
    **{unit: unit for unit in ["KiB", "MiB", "GiB", "TiB", "kbit", "Mbit", "Gbit", "Hz", "MHz", "GHz", "W", "V"]},
    **dict.fromkeys(["B/s", "bytes/sec", "bytes/s"], "B/s"),
    **dict.fromkeys(["KB/s", "kB/s", "KB/sec", "kb/s", "KBps"], "kB/s"),
    **dict.fromkeys(["MB/s", "MB/sec", "mb/s", "MBps", "MB / s", "M/s"], "MB/s"),
    **dict.fromkeys(["GB/s", "GB/sec", "GBps"], "GB/s"),
    **dict.fromkeys(["KiB/s"], "KiB/s"),
    **dict.fromkeys(["MiB/s", "MiB/sec"], "MiB/s"),
    **dict.fromkeys(["GiB/s", "GiB/sec"], "GiB/s"),
    **dict.fromkeys(["Gbps", "Gb/s", "Gbit/s", "Gigabit"], "Gbit/s"),
    **dict.fromkeys(["Mbps", "Mb/s", "Mbit/s"], "Mbit/s"),
    **dict.fromkeys(
        "tps TPS qps QPS rps RPS ops OPS IOPS iops ops/s ops/sec op/s Ops/sec req/s req/sec reqs/s requests/s "
        "requests/sec queries/s queries/sec rows/s rows/sec msgs/s msg/s msgs/sec messages/s messages/sec tx/s tx/sec "
        "txns/s trans/sec transactions/s pps eps events/s docs/s records/s records/sec /s /sec 条/秒 个/秒 次/秒".split(),
        "1/s",
    ),
    **dict.fromkeys(["requests per second", "transactions per second", "queries per second"], "1/s"),
    **dict.fromkeys(["per second", "per sec", "per sec."], "1/s"),
    **dict.fromkeys("tpmC TPMC tpm TPM tpmc TpmC /min".split(), "1/min"),
    **dict.fromkeys(["per minute", "transactions per minute"], "1/min"),
    **dict.fromkeys(
        "row rows Rows key keys records node nodes thread threads client clients connections core cores vCPU vCPUs "
        "table tables requests queries transactions events 行".split(),
        "1",
    ),
    **dict.fromkeys(["us/op", "µs/op", "micros/op", "us/query"], "us"),
    **dict.fromkeys(["ms/op", "ms/query", "ms/txn"], "ms"),
    **dict.fromkeys(["ns/op"], "ns"),
}
# Of whatever there are so many a second: files/s, images per second. Bytes and bits have units of their own; a k or M
# before what is no word (ktokens/s) is a thousand or a million, and not read.
_ANY_RATE = (
    r"(?!\w*(?:[Bb]yte|[Bb]it)|[kKMGT]i?[Bb]\b|[kKM](?![aeiouyn])[a-z])"
    r"[A-Za-z]{3,}(?:/s(?:ec(?:ond)?)?| per sec(?:ond)?)"
)
_KNOWN = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_UNIT = rf"{_ANY_RATE}|{_KNOWN}"
_MAGNITUDE = "|".join(sorted(map(re.escape, MAGNITUDES), key=len, reverse=True))
_BYTES = {"K": "kB", "M": "MB", "G": "GB", "T": "TB"}

_ABOUT = r"~|≈|≃|～|about\s|approximately\s|approx\.?\s|around\s|roughly\s|nearly\s|almost\s|约|大约|近"
_BOUND = r"<=|>=|<|>|≤|≥|under\s|below\s|above\s|over\s|more than\s|less than\s|at least\s|at most\s|up to\s|超过|不到|至少|最多"


_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
# As in 1.2 × 10^6 and 1.2·10⁶.
_POWER = rf"\s?[×x*·⋅]\s?10(?:\^\{{?[+{MINUS}]?\d{{1,3}}\}}?|[⁺⁻]?[{_SUPERSCRIPTS}]{{1,3}})"


def _pattern(style: Style, prefix: str = "") -> str:
    thousands, decimal = (",", r"\.") if style == "point" else (r".", ",")
    # Groups of three have one separator, the same all through.
    of_latex = r"|\\[,; ]|\{,\}" if style == "point" else ""
    groups = (
        rf"\d{{1,3}}(?P<{prefix}sep>[{thousands}{_BLANKS}_{_APOSTROPHES}]{of_latex})\d{{3}}(?:(?P={prefix}sep)\d{{3}})*"
    )
    lakhs = (
        rf"\d{{1,2}}(?:{thousands}\d\d)+{thousands}\d{{3}}(?:{decimal}\d+)?(?![{thousands}]?\d)"  # 12,34,567 in India
    )
    numeral = rf"{lakhs}|{groups}(?:{decimal}\d+)?(?!\d)|\d*{decimal}\d+|\d+"
    return (
        rf"(?P<{prefix}numeral>{numeral})(?P<{prefix}exponent>[eE][+-]?\d{{1,3}}|{_POWER})?"
        rf"(?:\s?(?P<{prefix}magnitude>{_MAGNITUDE})(?![A-Za-z])|\s?(?P<{prefix}glued>[kKM])(?=(?:{_KNOWN})(?![A-Za-z/])))?"
        rf"(?P<{prefix}more>\+(?=\s?(?:{_UNIT})(?![A-Za-z])))?(?P<{prefix}gap>\s{{0,2}})(?:(?P<{prefix}unit>{_UNIT})(?![A-Za-z]))?"
    )


_CLOCK = re.compile(
    r"(?:(?P<h>\d+)\s?h(?:ours?|rs?)?\s?)?(?:(?P<m>\d+)\s?m(?:in(?:ute)?s?)?\s?)(?P<s>\d+(?:\.\d+)?)\s?s(?:ec(?:ond)?s?)?\b"
    r"|(?P<h2>\d+)\s?h(?:ours?|rs?)?\s?(?P<m2>\d+)\s?m(?:in(?:ute)?s?)?\b"
)
# Neither the 2 of us-east-2, nor the 100 of 2·100, nor a spread without its figure (±3).
_BEFORE = r"(?<![\w.,±])(?<!± )(?<![A-Za-z]-)(?<![A-Za-z]\d-)(?<!\d[·⋅•])"
_FIGURE = {
    style: re.compile(
        rf"{_BEFORE}(?P<about>{_ABOUT})?\s?(?P<bound>{_BOUND})?\s?(?P<open>\()?(?P<sign>[+{MINUS}])?\s?"
        rf"(?P<currency>[$€£¥])?{_pattern(style)}(?P<plus>\+)?"
    )
    for style in ("point", "comma")
}
_RANGE = {
    style: re.compile(
        rf"{_BEFORE}(?P<about>{_ABOUT})?\s?{_pattern(style, 'a_')}\s?(?:[~～{MINUS}]|\.\.|to|至|到)\s?{_pattern(style, 'b_')}(?!\w|\.\d)"
    )
    for style in ("point", "comma")
}
_SPREAD = re.compile(r"^\s?(?:±|\+/-|\(±)\s?[\d.,]+\s?(?:%|[a-zµμ/]{1,6})?\)?")
# Dates, clock times, versions, addresses and identifiers: figures, but no measurements.
NO_FIGURE = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? \d{1,2}(?:st|nd|rd|th)?, (?:19|20)\d\d\b|\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b|(?:\d{1,3}\.){3}\d{1,3}(?:[:/]\d+)?"
    r"|\b0x[0-9a-fA-F]+\b|\bv?\d+(?:\.(?:\d+|x|X)){2,}[\w.+-]*|\bv\d+(?:\.\d+)*[\w.-]*|https?://\S+|\b[0-9a-f]*(?:[a-f]\d|\d[a-f])[0-9a-f]{6,}\b"
)
# What is no version, where decimals stand behind a comma: 1.234.567.
_MILLIONS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){2}(?:(?:\.\d{3}){2,})?")
_EMPTY = re.compile(
    r"^(?:[-−–—]+|n/?a|none|null|nan|tbd|\?|∞|inf|x|✓|✗|yes|no|ok|无|不适用|\.{2,3}|…)?$", re.IGNORECASE
)


class Figure(NamedTuple):
    """A printed number: its value in `unit` ("" where none is printed), between `low` and `high` as it is rounded.

    kind: "number"; "about" (~5); "range" (50-200, the value its middle); "bound" (<1, 3,000,000+: not a measurement).
    """

    value: float
    unit: str
    low: float
    high: float
    printed: str
    kind: Kind = "number"
    start: int = 0
    end: int = 0

    @property
    def place(self) -> float:
        """The last printed place, in `unit`: 10 for 15.10k."""
        return float(f"{self.high - self.low:.6g}")  # without the dust of binary floating point

    def times(self, scale: float) -> Figure:
        """Return it in another unit, of which it is `scale` times as many."""
        return self._replace(value=self.value * scale, low=self.low * scale, high=self.high * scale)

    @property
    def exact(self) -> bool:
        """Whether it stands for one value, as a measurement that can be computed with."""
        return self.kind == "number"


def is_empty(text: str) -> bool:
    """Return whether a cell says that there is nothing: "-", "N/A", "∞"."""
    return bool(_EMPTY.match(text.strip()))


def style_of(texts: Iterable[str]) -> Style:
    """Return whether a document's decimals stand behind a comma: only where none can stand behind a point."""
    comma = point = 0
    for text in texts:
        comma += bool(re.fullmatch(r"[^\d]{0,3}(?:\d{1,3}(?:\.\d{3})*|\d+),(?:\d{1,2}|\d{4,})\s?\D{0,8}", text.strip()))
        point += bool(
            re.fullmatch(
                r"[^\d]{0,3}\d*\.(?:\d{1,2}|\d{4,})\s?\D{0,8}|\D{0,3}\d{1,3}(?:,\d{3})+(?:\.\d+)?\D{0,8}", text.strip()
            )
        )
    return "comma" if comma >= 2 and comma > 9 * point else "point"


# A numeral of so many digits is a key or a dump; the time to match it grows with the square of its length.
_NO_NUMERAL = re.compile(r"\d[\d.,_]{60,}")


def figures(text: str, style: Style = "point") -> list[Figure]:
    """Return the figures in a text, from left to right."""
    text = _NO_NUMERAL.sub(lambda m: "\x00" * len(m[0]), text)
    masked = NO_FIGURE.sub(
        lambda m: m[0] if style == "comma" and _MILLIONS.fullmatch(m[0]) else "\x00" * len(m[0]), text
    )
    found: list[Figure] = []
    place = 0
    while place < len(masked):
        clock, span, one = (p.search(masked, place) for p in (_CLOCK, _RANGE[style], _FIGURE[style]))
        first = min((m for m in (clock, span, one) if m), key=lambda m: (m.start(), m is one), default=None)
        if first is None:
            break
        figure = (
            _clock(first) if first is clock else _span(first, style) if first is span else _number(first, masked, style)
        )
        if figure is None and first is span and one is not None:
            first, figure = one, _number(one, masked, style)
        place = max(first.end(), place + 1)
        if figure is not None:
            found.append(figure)
            place = max(figure.end, place)
            if spread := _SPREAD.match(masked[place:]):
                place += spread.end()
    return found


def _parts(numeral: str, style: Style) -> tuple[float, float]:
    """Return the value of a numeral and its last printed place."""
    mark = "." if style == "point" else ","
    whole, _, decimals = numeral.rpartition(mark) if mark in numeral else (numeral, "", "")
    digits = re.sub(r"\D", "", whole)
    return float(f"{digits or 0}.{decimals or 0}"), 10.0 ** -len(decimals)


def _power_of_ten(exponent: str) -> float:
    plain = re.sub(f"[{MINUS}]", "-", unicodedata.normalize("NFKC", exponent))
    said = re.fullmatch(r"(?:[eE]|.*?10\^?)\{?([+-]?\d+)\}?", plain)
    return float(f"1e{said[1]}") if said else 1.0


def _scaled(match: re.Match[str], prefix: str, style: Style) -> tuple[float, float, str] | None:
    value, place = _parts(match[f"{prefix}numeral"], style)
    factor = _power_of_ten(match[f"{prefix}exponent"] or "e0")
    magnitude, unit = match[f"{prefix}magnitude"] or match[f"{prefix}glued"] or "", match[f"{prefix}unit"] or ""
    if unit and not match[f"{prefix}magnitude"] and magnitude + unit in UNITS:
        magnitude, unit = "", magnitude + unit
    if magnitude == "m" and unit:
        return None
    if magnitude in {"G", "Gi"} and not unit:
        magnitude, unit = "", "GB" if magnitude == "G" else "GiB"
    if magnitude == "B" and not match[f"{prefix}gap"] and not unit and factor == 1 and place == 1:
        magnitude, unit = "", "B"
    factor *= MAGNITUDES.get(magnitude, 1.0)
    return value * factor, place * factor, UNITS.get(unit, "1/s" if re.fullmatch(_ANY_RATE, unit) else "")


def _number(match: re.Match[str], text: str, style: Style) -> Figure | None:
    scaled = _scaled(match, "", style)
    start, end = match.start(), match.end()
    while start < end and text[start].isspace():
        start += 1
    rest = text[end : end + 1]
    # Of 1,200¹ it is the sign of a note; 2⁶ is another number.
    noted = rest and rest in _SUPERSCRIPTS and len(re.findall(r"\d", match["numeral"])) > 2
    glued = not match["unit"] and not match["magnitude"] and (rest.isalnum() or rest == "_") and not _cjk(rest)
    glued = glued and not noted
    if scaled is None or glued:
        return None
    if rest in set(".,·⋅•") and text[end + 1 : end + 2].isdigit():  # 1.2.3, 12,3456, 2·100: not understood
        return None
    if rest and rest in MINUS and not text[end - 1].isspace() and text[end + 1 : end + 2].strip() in {"", ")"}:
        return None  # 5−: a minus behind its number
    value, place, unit = scaled
    sign = match["sign"] or ""
    if sign and text[match.end("sign")].isspace() and text[: match.start("sign")].strip():
        sign, start = "", match.start("numeral")  # "1316042016 - 539.47MB/s" are two figures
    if match["open"]:
        closed = text[end : end + 1] == ")" and text[: match.start()].strip() == "" and not text[end + 1 :].strip()
        if closed and not sign:
            sign, end = "-", end + 1
        else:
            start = match.start("sign") if sign else match.start("numeral")
    if sign and sign in MINUS:
        value = -value
    kind: Kind = "about" if match["about"] else "number"
    if match["bound"] or match["more"] or match["plus"]:
        kind = "bound"
    return Figure(value, unit, value - place / 2, value + place / 2, text[start:end].strip(), kind, start, end)


def _span(match: re.Match[str], style: Style) -> Figure | None:
    a, b = _scaled(match, "a_", style), _scaled(match, "b_", style)
    if a is None or b is None:
        return None
    (low, _, one), (high, _, other) = a, b
    if one and other and one != other:
        return None
    if not low < high:
        return None
    return Figure((low + high) / 2, other or one, low, high, match[0].strip(), "range", match.start(), match.end())


def _clock(match: re.Match[str]) -> Figure:
    hours, minutes = float(match["h"] or match["h2"] or 0), float(match["m"] or match["m2"] or 0)
    seconds = float(match["s"] or 0)
    place = 60.0 if match["s"] is None else 10.0 ** -len(match["s"].partition(".")[2])
    value = hours * 3600 + minutes * 60 + seconds
    return Figure(
        value, "s", value - place / 2, value + place / 2, match[0].strip(), "number", match.start(), match.end()
    )


def _cjk(character: str) -> bool:
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"
