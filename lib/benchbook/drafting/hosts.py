"""The hosts that a document describes."""

from __future__ import annotations

import re
from typing import Any

from benchbook.documents.numerals import is_empty
from benchbook.documents.tables import Reading, Table
from benchbook.drafting.guesses import Guesses
from benchbook.drafting.systems import SYSTEMS

# Quantities of which a column makes its table one of measurements.
MEASURED = {"throughput", "percentile", "mean", "min", "max", "latency", "time", "usage", "spread", "errors"}
_HOST_WORDS = [
    ("address", r"\bip\b|address"),
    ("count", r"quantity|count|数量|^nodes?$|instances?$"),
    ("cpu", r"\bv?cpus?\b|processor|cores|处理器"),
    ("memory", r"memory|\bram\b|内存"),
    ("disk", r"disk|storage|\bssd\b|磁盘|存储"),
    ("network", r"network|nic\b|网卡|网络"),
    ("os", r"operati\w+ system|\bos\b|操作系统"),
    ("kernel", r"kernel|内核"),
    ("filesystem", r"file ?system|文件系统"),
    ("runs", r"deploy|instance|service|runs|部署|实例"),
    ("hardware", r"size|machine type|instance type|configuration|机型|配置"),
    ("name", r"type|name|role|host|node|component|类型|节点|组件|角色|机器"),
]
# Headings beside a list of a host's parts that call no host.
_NO_HOST = re.compile(
    r"\W*(?:values?|descriptions?|details?|notes?|remarks?|comments?|specs?|specifications?|configurations?|settings?|值|取值|说明|备注|描述|配置|参数)?\W*$",
    re.IGNORECASE,
)
_NOTES = re.compile(r"\W*(?:notes?|remarks?|comments?|备注|说明)\W*$", re.IGNORECASE)


def host_field(words: str) -> str:
    """Return the field of a host that words name; "" for none."""
    return next((name for name, pattern in _HOST_WORDS if re.search(pattern, words, re.IGNORECASE)), "")


def host_attributes(table: Table) -> list[str]:
    """Return which fields of a host the headings of a table are (or its first column's cells); empty: of none."""
    if any(column.quantity in MEASURED - {"usage", "time", "latency"} for column in table.columns):
        return []
    across = [host_field(column.heading) for column in table.columns]
    down = [host_field(row[0].text) for row in table.rows]
    for fields in (across, down):
        known = set(fields) & {"cpu", "memory", "disk", "network", "os", "kernel", "address", "hardware", "filesystem"}
        if len(known) >= 2 or (known and set(fields) & {"runs", "count"}):
            return fields
    return []


def hosts_of(read: Reading, guesses: Guesses) -> list[dict[str, Any]]:
    """Return the hosts of all tables that describe some, with what runs on each."""
    found: dict[str, dict[str, Any]] = {}
    for table in read.tables:
        fields = host_attributes(table)
        if not fields:
            continue
        if fields == [host_field(column.heading) for column in table.columns]:
            records = [(row[0].line, list(zip(fields, row, strict=True)), "") for row in table.rows]
        else:
            parts = [
                (place, column)
                for place, column in enumerate(table.columns)
                if place and column.quantity != "cost" and not _NOTES.match(column.heading)
            ]
            called = table.caption.strip("*:：_ \n") or table.heading or "host"
            records = [
                (table.line, [(name, row[place]) for name, row in zip(fields, table.rows, strict=True)],
                 called if _NO_HOST.match(column.heading) else column.heading)
                for place, column in parts
                if len(parts) == 1 or not _NO_HOST.match(column.heading)
            ]  # fmt: skip
        for line, cells, name in records:
            said = [(name, cell.text.strip()) for name, cell in cells if name and not is_empty(cell.text)]
            _host(found, [*([("name", name)] if name else []), *said], line, guesses)
    return list(found.values())


def _host(found: dict[str, dict[str, Any]], said: list[tuple[str, str]], line: int, guesses: Guesses) -> None:
    texts = " ".join(text for name, text in said if name in {"name", "address"})
    addresses = re.findall(r"(?:\d{1,3}\.){3}\d{1,3}", texts) or [""]
    for address in addresses:
        host: dict[str, Any] = {"runs": []}
        for name, text in said:
            if name == "count":
                host["count"] = int(text) if text.isdigit() and 0 < int(text) < 1_000_000 else 1
            elif name == "runs":
                host["runs"] = [re.sub(r"\s*\\?[*x×]\s*\d+$", "", part.strip()) for part in re.split("[,，、]", text)]
            elif name == "hardware" and (
                size := re.fullmatch(r"(.*?v?cpus?|.*?cores?)[,，]\s*(.*)", text, re.IGNORECASE)
            ):
                host |= {"cpu": size[1], "memory": size[2]}
            elif name not in {"name", "address"}:
                host.setdefault(name, text)
        called = next((text for name, text in said if name == "name" and not address), "")
        if not address and not called:
            continue
        host |= {"address": address} if address else {"name": called}
        named = [text for name, text in said if name == "name" and re.fullmatch(SYSTEMS, text, re.IGNORECASE)]
        host["runs"] = host["runs"] or named
        key = address or called
        old = found.setdefault(key, host)
        if old is not host:
            old |= {name: value for name, value in host.items() if name not in old or not old[name]}
        guesses.add("report.yaml", f"hosts.{key}", ", ".join(f"{n} {v}" for n, v in host.items())[:200], line, 0.7)
