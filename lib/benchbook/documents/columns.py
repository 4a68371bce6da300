"""What a heading says of a column: quantity, unit, whether more is better, and its role.

The rules are a table, first match counts; each has a heading that it reads, and these are its tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from benchbook.documents.numerals import MAGNITUDES, UNITS, Figure, is_empty
from benchbook.documents.units import is_rate, is_time

Role = Literal["level", "metric", "delta", "note"]
Better = Literal["more", "less", ""]


class Rule(NamedTuple):
    """A heading that matches `pattern` (ignoring case) has this quantity, unit (where it names none), direction, role."""

    pattern: str
    quantity: str
    example: str
    unit: str = ""
    better: Better = ""
    role: Role = "metric"


RULES = [
    Rule(r"(?<!per )(?<!/)\b(?:s?id|uuid|port|ip|pid)\W*$", "identifier", "TENANT_ID", role="note"),
    Rule(r"^\W*(?:notes?|remarks?|comments?|observations?|备注|说明|注释)\W*$", "", "Notes", role="note"),
    Rule(r"^\W*(?:percentiles?|quantiles?|百?分位数?)\W*$", "rank", "Percentile", role="level"),
    Rule(
        r"hit ratio|hit rate|命中率|\befficiency\b ?(?=[(%]|$)|success(?:ful)? ?(?:rate|ratio|share|%|\(%)|成功率",
        "share",
        "Cache hit ratio",
        unit="%",
        better="more",
    ),
    Rule(
        r"improve?ment|提升|speed[- ]?up|\bgain|\bdelta\b|\bdiff(?:erence)?\b|\bchanges?\b(?! ?log)|变化|增幅|差异|regression|overhead|degradation|下降|"
        r"\bmultip(?:le|lier)\b|\brelative\b|\bratio\b(?!.*hit)|\bvs\.?\s|normali[sz]ed|slow ?down|\bfaster\b|提高|增长|Δ|倍数|\([\w. ]+[-−–][\w. ]+\)\s?/",
        "delta",
        "TPS improvement (%)",
        role="delta",
    ),
    Rule(r"^\W*(?:min(?:imum)?|最小值?)\W*(?:(?:ns|us|µs|ms|s)\W*)?$", "min", "Min"),
    Rule(r"^\W*(?:max(?:imum)?|最大值?)\W*(?:(?:ns|us|µs|ms|s)\W*)?$", "max", "最大值(ms)"),
    Rule(
        r"\bmin(?:imum)?\b.*(?:latenc|time|\(?(?:ms|us|s)\)?$)|\b(?:fastest|shortest) (?:request|response)|(?:latenc|response time|(?:time|duration)\b.*[(\[]).*/ ?min(?:imum)?\W*$|\blat\w* ?(?:\(?\w+\)?)? ?min",
        "min",
        "Min latency (ms)",
        better="less",
    ),
    Rule(
        r"\b(?:max(?:imum)?|slowest|longest|worst)\b.*(?:latenc|time|request|response|\(?(?:ms|us|s)\)?$)|(?:latenc|response time|(?:time|duration)\b.*[(\[]).*/ ?max(?:imum)?\W*$|\blat\w* ?(?:\(?\w+\)?)? ?max",
        "max",
        "Max latency (ms)",
        better="less",
    ),
    Rule(
        r"\b(?:99\.9+|99\.\d+|9[059]|75|50|80)(?:th|rd)?\s?(?:%|percent|分位|pct|latenc|lat|duration|(?=\W|$))|\bp\.?\s?(?:99\.?9*|95|90|75|50)\b|p99|p95|median|中位数"
        r"|\b(?:tp|p)\d\d+|\bp0\.\d\b|(?-i:\bp1\b)|延迟分位",
        "percentile",
        "95% latency (ms)",
        better="less",
    ),
    Rule(
        r"(?:avg|average|mean|平均).*(?:latenc|time|duration|延迟|时间|\((?:ms|us|s)\))|latenc.*(?:avg|average|mean)|response time",
        "mean",
        "Avg latency (ms)",
        better="less",
    ),
    Rule(r"std\.? ?dev|stddev|\bsd\b|variance|标准差|±|error bar|\bCI\b", "spread", "Std dev (ms)", better="less"),
    Rule(r"^\W*(?:(?:test|run|measured|total) )?duration\W*(?:\w{1,4}\W*)?$", "time", "Duration (s)", better="less"),
    Rule(r"latenc|延迟|response time|响应时间|duration|rtt\b|\blat\b", "latency", "Latency (us)", better="less"),
    Rule(r"tpm-?c|\btpm\b|new[- ]?orders?/min", "throughput", "tpmC", unit="1/min", better="more"),
    Rule(
        r"\b(?:tps|qps|rps|ops|iops|eps)\b|(?:transactions|queries|requests|reqs?|ops|operations|messages|msgs?|rows|records|events|docs|points|inserts|reads|writes|txns?)(?: completed)?"
        r"\s?(?:/|per|\\)\s?(?:s|sec|second)|throughput|吞吐|每秒|\bthruput",
        "throughput",
        "QPS",
        unit="1/s",
        better="more",
    ),
    Rule(
        r"bandwidth|带宽|(?:[kmg]i?b|bytes|mb)(?:/s|/sec|ps)\b|\bspeed\b|\bvelocity\b|速度|速率",
        "throughput",
        "导入速度 (MB/s)",
        better="more",
    ),
    Rule(
        r"\bcpu\b(?! ?(?:cores?|types?|model|count|arch))|处理器|utili[sz]ation|利用率|使用率|\busage\b",
        "usage",
        "CPU Usage",
        better="less",
    ),
    Rule(r"\berrors?\b|\bfails?\b|failed|failures|timeouts|错误|失败|超时", "errors", "Errors", better="less"),
    Rule(
        r"(?:thread|client|producers|consumers|connection|worker|concurren|线程|并发|连接|parallelism|goroutine|\bvus?\b|\busers\b|(?<!-)sessions?\b|terminals).{0,20}",
        "concurrency",
        "Threads",
        unit="1",
        role="level",
    ),
    Rule(
        r"batch|block size|payload|message size|\binstances?\b|value size|key size|row size|record size|page size|chunk|warehouses?|scale|pool size|\bnodes?\b|replicas|partitions|shards|cores\b|vcpus?\b"
        r"|^\W*(?:\w+ )?(?:run|round|iteration|trial|repetition|target)\W*$|\blength\b|\blevel\b|depth\b|pipelin|行数|大小|number of (?:tables|rows|keys|columns|records)|\bversion\b|版本|\btables?\b$|item ?count|\bn\b$|fan-?out|\bsf\b",
        "setting",
        "Batch size",
        role="level",
    ),
    Rule(
        r"elapsed|run ?time|\btime\b|时间|耗时|用时|takes?\b|\bt\((?:s|ms)\)|seconds|\bmsecs?\b|execution|wall",
        "time",
        "Load time (s)",
        better="less",
    ),
    Rule(
        r"memory|\bmem\b|内存|\brss\b|disk|storage|size\b|space|磁盘|volume|数据量|bytes|\bdata\b",
        "size",
        "Memory (MB)",
        better="less",
    ),
    Rule(r"\bcost|\bprice|\$|价格|成本|费用", "cost", "Cost", better="less"),
    Rule(r"\b(?:average|mean|avg)\b|平均", "mean", "Average"),
    Rule(
        r"\b(?:total|sum|count|iterations|requests|transactions|rows|events|ops|score|records|queries|samples(?!\s?/)|measurements)\b|^\W*(?:number|no\.?) of\b|总|样本数|次数",
        "count",
        "Total requests",
        unit="1",
    ),
]
_COMPILED = [(re.compile(rule.pattern, re.IGNORECASE), rule) for rule in RULES]
_IN_BRACKETS = re.compile(r"[(\[（]\s*(?:in\s+)?([^)\]）(]{1,24}?)\s*[)\]）]")
_PERCENTILE = re.compile(
    r"(?:^|[^\d.])p?(99\.9+|99\.\d+|99|95|90|75|50|80|999)(?!\d)|\bp(0\.\d|1|10|25)\b", re.IGNORECASE
)


class Column(NamedTuple):
    """A column: its heading as printed; `percent` of a percentile; how sure its reading is, from 0 to 1."""

    heading: str
    quantity: str = ""
    unit: str = ""
    better: Better = ""
    role: Role = "note"
    percent: float | None = None
    sure: float = 0.0


def column(heading: str, cells: Sequence[list[Figure]], texts: Sequence[str], *, first: bool) -> Column:
    """Return what a heading, and the cells below it, say of a column; `first`: no metric stands to its left."""
    rule = rule_of(AT_LEVEL.sub("", heading))
    unit = unit_of(heading)
    if unit == "min" and rule and rule.quantity == "min":
        unit = ""  # the least, not minutes
    if unit == "%" and rule and rule.quantity == "percentile":
        unit = ""  # "99%" and "latency 99%" name the rank
    printed = [cell[0].unit for cell in cells if cell]
    common = max(set(printed), key=printed.count) if printed else ""
    if not unit and common and printed.count(common) > len(printed) / 2:
        unit = common
    if rule and rule.quantity == "usage" and is_rate(unit):
        rule = rule_of("throughput")  # "-cpu=4", 3625.6MB/s
    # TIMEOUT, OOM and FAILED stand for a figure that there is none of.
    timed = rule is not None and rule.quantity in {"throughput", "percentile", "mean", "latency", "time"}
    filled = [text for text in texts if not is_empty(text) and (not timed or re.search(r"\d", text))]
    numeric = sum(bool(cell) and _mostly(cell[0], text) for cell, text in zip(cells, texts, strict=True))
    share = numeric / len(filled) if filled else 0.0
    if share < 0.5:
        return Column(heading, rule.quantity if rule else "", role="level" if first else "note", sure=0.7)
    if rule is None:
        if unit == "%":
            return Column(heading, "share", "%", "", "metric", sure=0.5)
        if unit == "x":
            return Column(heading, "delta", "x", "more", "delta", sure=0.5)
        values = [cell[0].value for cell in cells if cell]
        # The steps of a ladder, or what was set and is printed again: 128, 128, 2048, 2048.
        chosen = len(values) > 1 and (values == sorted(set(values)) or 2 * len(set(values)) <= len(values) > 3)
        whole = all(value == int(value) for value in values)
        steps = chosen and whole and {*printed} <= {"", "1"} and not unit and not concurrency_of(heading)
        counts = all(AT_LEVEL.fullmatch(text.strip()) for text in filled)  # "8 threads"
        role: Role = "level" if first and (steps or counts) else "metric"
        return Column(heading, "", unit, direction(unit), role, sure=0.4 if role == "level" else 0.5)
    role = _role(rule, unit, cells, first=first)
    if rule.quantity == "concurrency" and role == "metric":
        return Column(heading, "", unit, direction(unit), role, sure=0.5)
    percent = percent_of(heading) if rule.quantity == "percentile" else None
    sure = 0.95 if unit or rule.unit else 0.8
    better = "more" if percent and is_rate(unit) else rule.better or direction(unit)
    return Column(heading, rule.quantity, unit or rule.unit, better, role, percent, sure)


def _role(rule: Rule, unit: str, cells: Sequence[list[Figure]], *, first: bool) -> Role:
    if rule.role == "note":
        return "level" if first else "note"
    if rule.role == "level":
        return "metric" if unit in {"ms", "us", "1/s", "MB/s", "1/min"} else "level"
    if rule.role == "delta":
        return "delta" if unit in {"%", "x", ""} else "metric"
    if unit == "x":
        return "delta"  # "S2 throughput", 1.84x: that of another
    values = [cell[0].value for cell in cells if cell]
    if first and rule.quantity == "size" and len(values) > 2 and values == sorted({*map(int, values)}):
        return "level"  # 1, 10, 100 kB of a message
    set_rates = first and rule.quantity == "throughput" and len(set(values)) < len(values)
    # Rates that were set are round, and printed again: 1m, 1m, 5m, 5m.
    return "level" if set_rates and all(float(f"{one:.1g}") == one for one in values) else rule.role


AT_LEVEL = re.compile(
    r"(?<![\w.,/])(\d[\d,]*)[\s-]*(?:concurrent )?"
    r"(?:threads?|clients?|connections?|workers?|producers?|consumers?|sessions?|terminals?|users|并发|线程)(?![A-Za-z])"
    r"(?!\s*(?:machines?|nodes?|hosts?|vms?|pools?)\b)"
    # Without a sign of equality the plural alone: "client 1" is one of several.
    r"|(?:(?:threads|clients|connections|concurrency|并发|线程数?)\s?[=:：]?|(?:thread|client|connection)\s?[=:：])\s?"
    r"(\d[\d,]*)(?![\d.]|\s*(?:%|(?:th|rd|ms|us|s)\b))",
    re.IGNORECASE,
)


def concurrency_of(heading: str) -> str:
    """Return the threads (clients, connections) at which a column was measured, as its heading says: 8 of "TPS, 8 threads"."""
    found = AT_LEVEL.search(heading)
    return (found[1] or found[2]).replace(",", "") if found else ""


def rule_of(heading: str) -> Rule | None:
    """Return the first rule that a heading matches."""
    words = re.sub("[_⁰¹²³⁴-⁹]", " ", heading)  # TPS¹: the sign of a note
    return next((rule for pattern, rule in _COMPILED if pattern.search(words)), None)


_COUNTED = re.compile(r"\b(?:ops|op|req\w*|rows|msgs?|queries|lookups?|operations|events|records)\b", re.IGNORECASE)


def unit_of(heading: str) -> str:
    """Return the unit that a heading names: in brackets, behind a comma, or as its last word."""
    told = _IN_BRACKETS.findall(heading)
    for words in told:
        if words == "min" and any(one in UNITS for one in told if one != "min"):
            continue  # the minimum, not minutes: "TTFT (min) (s)"
        if words in UNITS:  # "ops/sec (M/s)" are millions, no megabytes
            return "1/s" if words == "M/s" and _COUNTED.search(heading) else UNITS[words]
        if re.match(r"(?:μs|us|ms|s|MB/s|KB/s|GB/s)\b", words) and words.split()[0].rstrip(",;") in UNITS:
            return UNITS[words.split()[0].rstrip(",;")]
    if rate := re.search(r"(\w+) per (second|sec|s|minute)\b", heading.replace("_", " "), re.IGNORECASE):
        amount = UNITS.get(rate[1], "")
        per = "min" if rate[2].lower() == "minute" else "s"
        return f"{amount}/s" if "B" in amount and per == "s" else f"1/{per}"
    bare = re.sub(r"(?<=\S)\s*\([^()]*\)\s*$", "", heading)  # "CPU usage, % (1 - idle)": a remark behind the unit
    last = re.split(r"[,;_\s]\s*(?:in\s+)?", bare.strip().rstrip(":"))[-1]
    if last in UNITS and UNITS[last] != "1" and last not in {"B", "s", "h", "x", "X", "W", "V", "M/s"}:
        return UNITS[last]
    if re.fullmatch(r"(?:[A-Za-z]{3,}|p[\d.]+)/s(?:ec)?", last):
        return "1/s"
    tail = re.search(
        r"(?<![A-Za-z])(?:in )?(seconds|milliseconds|microseconds|ops/sec|ops/s|MB/s|MB/sec|GB/s|KB/s|%)\s*$",
        heading,
        re.IGNORECASE,
    )
    return UNITS.get(tail[1], UNITS.get(tail[1].lower(), "")) if tail else ""


_SCALED = re.compile(
    r"(?:[(\[（,]\s*|\bin |(?<=[^\d\s]\s))(?:x ?|× ?)?(?P<word>[kKM]|万|百万|thousand|million|billion)s?\b\s?"
    r"(?:ops|qps|tps|rps|iops|ops|req\w*|rows|msgs?|messages|records|events|queries|tx\w*|operations)?\s?(?:(?:/|per)\s?s\w*)?\s*(?:[)\]）]|$)"
    r"|\b(?P<glued>[kKM])(?:ops|qps|tps|rps|iops|req|msgs?|OPS|QPS|TPS|RPS|IOPS)(?:/s(?:ec)?)?\b"
)


def scale_of(heading: str) -> float:
    """Return what a heading says that each of its figures is to be taken times: 1000 of "QPS (K)" and of "Kops/s"."""
    found = _SCALED.search(heading)
    return MAGNITUDES[found["word"] or found["glued"]] if found else 1.0


def direction(unit: str) -> Better:
    """Return whether more of a unit is better (rates), or less (times)."""
    return "more" if is_rate(unit) else "less" if is_time(unit) else ""


def percent_of(heading: str) -> float | None:
    """Return the percentile that a heading names: 99.9 of "p999"."""
    found = _PERCENTILE.search(heading)
    if found is None:
        return 50.0 if re.search("median|中位数", heading, re.IGNORECASE) else None
    return 99.9 if found[1] == "999" else float(found[1] or found[2])


def _mostly(figure: Figure, text: str) -> bool:
    """Return whether a cell is a figure with a few words, and not a text with a figure in it."""
    rest = text.replace(figure.printed, "", 1)
    label = re.match(r"\s*[A-Za-z][\w.]{0,11}\s?[:=]", text)  # "QPS: 159K, P99: 0.82ms"
    before = re.sub(r"[^\w#]", "", text[label.end() if label else 0 : figure.start])
    return not before and (
        len(re.sub(r"[\s()*%~<>≈]", "", rest)) <= max(12, 3 * len(figure.printed))
        or bool(re.match(r"[^\w(/]*(?:[a-z]+[^\w(/]*)?[(/]", rest))
        or label is not None
    )
