"""Which printed tables hold measurements, and which describe hosts."""

from __future__ import annotations

import re

from benchbook.documents.tables import Reading, Table

_MEASURED = {"throughput", "percentile", "mean", "min", "max", "latency", "time", "usage", "spread", "errors"}


def measured(read: Reading) -> list[Table]:
    """Return the tables that have measured figures."""
    return [
        table
        for table in read.tables
        if not host_attributes(table)
        and any(
            column.role == "metric" and column.quantity in _MEASURED and table.number(row, place)
            for place, column in enumerate(table.columns)
            for row in range(len(table.rows))
        )
    ]


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


def host_field(words: str) -> str:
    """Return which field of a host words call; "" for none."""
    return next((name for name, pattern in _HOST_WORDS if re.search(pattern, words, re.IGNORECASE)), "")


def host_attributes(table: Table) -> list[str]:
    """Return which fields of a host the headings of a table are (or its first column's cells); empty: of none."""
    if any(column.quantity in _MEASURED - {"usage", "time", "latency"} for column in table.columns):
        return []
    across = [host_field(column.heading) for column in table.columns]
    down = [host_field(row[0].text) for row in table.rows]
    for fields in (across, down):
        known = set(fields) & {"cpu", "memory", "disk", "network", "os", "kernel", "address", "hardware", "filesystem"}
        if len(known) >= 2 or (known and set(fields) & {"runs", "count"}):
            return fields
    return []
