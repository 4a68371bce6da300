"""What sar, iostat, vmstat and dstat printed beside a load: samples with their times, as seconds of the runs they fit.

Times are those of the host's clock, without a zone: they are read in that of this machine (TZ), as files' times are.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import pandas as pd

from benchbook.errors import OutputNotParseable

_HEAD = re.compile(r"^Linux \S+ \((?P<host>[^)]*)\)\s+(?P<date>\d[\d./-]+)\s", re.MULTILINE)
_CLOCK = r"\d\d[:,.]\d\d[:,.]\d\d(?: [AP]M)?"
_DATED = re.compile(rf"\d[\d./-]+[ T]{_CLOCK}(?:[+-]\d{{4}})?")
_UNITS = (
    (r"%.*|usr|sys|idl|wai|stl|hiq|siq|us|sy|id|wa|st", "%"),
    (r".*kB/s", "kB/s"),
    (r".*MB/s", "MB/s"),
    (r"[rw]?_?await|svctm", "ms"),
    (r"disk\.(?:read|writ)|net\.(?:recv|send)", "B/s"),
    (r".*/s|tps|in|cs", "1/s"),
)


class HostSample(NamedTuple):
    """A number at a time (seconds since the epoch); `metric` as it is printed, behind its disk or CPU."""

    t: float
    metric: str
    value: float
    unit: str


class HostMetrics(NamedTuple):
    """What one file holds."""

    tool: str
    host: str
    samples: list[HostSample]

    @property
    def span(self) -> str:
        """Its first and its last time, in words."""
        ends = (datetime.fromtimestamp(each.t) for each in (self.samples[0], self.samples[-1]))
        return " to ".join(f"{each:%Y-%m-%d %H:%M:%S}" for each in ends)

    def during(self, began: float, ended: float) -> list[HostSample]:
        """Return the samples of a time. They come in the order of their times."""
        first = bisect_left(self.samples, began, key=lambda each: each.t)
        return self.samples[first : bisect_right(self.samples, ended, key=lambda each: each.t)]


def read(text: str) -> HostMetrics | None:
    """Return the samples of a text; None where none of these programs printed it. Raise OutputNotParseable."""
    try:
        found = _read(text.lstrip())
    except ValueError as problem:
        raise OutputNotParseable(f"host metrics with a time that cannot be read: {problem}") from problem
    if found is None:
        return None
    if not found.samples:
        option = {"iostat": "-x -t", "vmstat": "-t", "dstat": "--epoch --output FILE"}.get(found.tool, "-u, or -d")
        raise OutputNotParseable(f"{found.tool} without the times of its samples (it prints them with {option})")
    return found


def _read(text: str) -> HostMetrics | None:
    head = _HEAD.match(text)
    # With -d it has no avg-cpu.
    if head and re.search(r"^(?:avg-cpu:|Device)", text, re.MULTILINE):
        return HostMetrics("iostat", head["host"], list(_iostat(text)))
    if head:
        rows = sorted(_sar(text, _date(head["date"])), key=lambda each: each.t)
        return HostMetrics("sar", head["host"], rows)
    if re.match(r"procs -+memory", text):
        return HostMetrics("vmstat", "host", list(_vmstat(text)))
    if re.match(r'"(?:Dstat|pcp-dstat|dool)\b', text):
        return HostMetrics("dstat", "host", list(_dstat(text)))
    return None


def _date(said: str) -> datetime:
    """12/29/2023 and 12/29/23 are the American order, 29.12.2023 is not."""
    return pd.to_datetime(said, dayfirst="." in said).to_pydatetime()


def _when(said: str) -> float:
    day, clock = re.split("[ T]", said, maxsplit=1)
    clock = re.sub(r"(?<=\d\d)[,.](?=\d\d)", ":", clock)
    return float(pd.to_datetime(f"{day} {clock}", dayfirst="." in day).to_pydatetime().timestamp())


def _samples(t: float, row: str, names: Sequence[str], values: Sequence[str]) -> Iterator[HostSample]:
    for name, printed in zip(names, values, strict=False):
        unit = next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, name)), "1")
        if re.fullmatch(r"\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?", printed):
            yield HostSample(t, f"{row}.{name}", float(printed.replace(",", ".")), unit)


def _sar(text: str, day: datetime) -> Iterator[HostSample]:
    """Of `all` CPUs, and of each disk; a clock that goes back has passed midnight.

    Of a day's file (-f) one table stands behind the other: the next one begins with the day anew.
    """
    names: list[str] = []
    row, told = "", set[datetime]()
    last = day
    for line in text.splitlines():
        match = re.match(rf"({_CLOCK})\s+(\S.*)", line)
        if match is None:
            continue
        first, *rest = match[2].split()
        if not any(word[0].isdigit() for word in rest):
            if first in ("CPU", "DEV") and first != row:
                last, row, told = day if len(told) > 1 else last, first, set()
            names = rest if first in ("CPU", "DEV") else []
            continue
        if not names:
            continue
        clock = pd.to_datetime(re.sub(r"[,.]", ":", match[1]))
        at = last.replace(hour=clock.hour, minute=clock.minute, second=clock.second)
        last = at + timedelta(days=1) if at < last else at
        told.add(last)
        if row == "DEV" or first == "all":
            yield from _samples(last.timestamp(), "cpu" if first == "all" else f"disk.{first}", names, rest)


def _iostat(text: str) -> Iterator[HostSample]:
    """Its first report is since the machine's start, and no sample."""
    t, reports, names, row = 0.0, 0, list[str](), ""
    for line in text.splitlines():
        words = line.split()
        if _DATED.fullmatch(line.strip()):
            t, reports = _when(line.strip()), reports + 1
        elif line.startswith(("avg-cpu:", "Device")):
            names, row = words[1:], "cpu" if line.startswith("avg") else "disk"
        elif words and names and t and reports > 1:
            device, values = ("", words) if row == "cpu" else (f".{words[0]}", words[1:])
            yield from _samples(t, f"{row}{device}", names, values)


def _vmstat(text: str) -> Iterator[HostSample]:
    """With -t a time stands behind each line; the first line is since the machine's start."""
    names: list[str] = []
    rows = 0
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["r", "b"]:
            names = words[:17]
        elif names and (dated := re.search(rf"{_DATED.pattern}$", line.strip())):
            rows += 1
            if rows > 1:
                yield from _samples(_when(dated[0]), "vmstat", names, words[: len(words) - 2])


def _dstat(text: str) -> Iterator[HostSample]:
    """A line of groups, one of columns; the time is `epoch`, or `time` as 20-09 10:00:01 of the year in its head."""
    year = re.search(r'"Date:","\d+ \w+ (\d{4})', text)
    groups: list[str] = []
    names: list[str] = []
    for words in csv.reader(text.splitlines()):
        if {"usr", "sys"} <= set(words) or {"read", "writ"} <= set(words):
            names = [f"{group}.{name}" if group else name for group, name in zip(groups, words, strict=False)]
        elif not names or len(words) < len(names):
            kinds = [re.split(r"[/ ]", word.replace("total cpu", "cpu").replace("dsk", "disk"))[0] for word in words]
            groups = [next((kind for kind in reversed(kinds[: i + 1]) if kind), "") for i in range(len(kinds))]
        else:
            row = dict(zip(names, words, strict=False))
            epoch = next((row[name] for name in row if name.endswith("epoch")), "")
            clock = next((row[name] for name in row if name.endswith("time")), "")
            if epoch:
                t = float(epoch)
            elif clock and year:
                day, month, rest = re.split(r"[- ]", clock, maxsplit=2)
                t = _when(f"{year[1]}-{month}-{day} {rest}")
            else:
                return
            for name, printed in row.items():
                group, _, column = name.partition(".")
                unit = "%" if group == "cpu" else "B/s" if group in ("disk", "net") else "1"
                if column not in ("epoch", "time") and re.fullmatch(r"\d+(?:\.\d+)?", printed):
                    yield HostSample(t, name, float(printed), unit)
