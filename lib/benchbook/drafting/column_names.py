"""What a column of a drafted table is called, by its heading."""

from __future__ import annotations

import re

from benchbook.documents.columns import AT_LEVEL, Column

_WORDS = re.compile(
    r"\b(?:tps|qps|rps|ops|iops|tpmc?|throughput|latenc\w+|lat|avg|average|mean|median|percentile|p\d\d\S*|(?:95|99|90|50)(?:th|\s?%)?|"
    r"performance|duration|ms|us|s|sec\w*|MB/s|GB/s|ops/s\w*|req\w*/s\w*|queries/s\w*|tx\w*/s)(?=\W|$)|%|吞吐量?|延迟|耗时",
    re.IGNORECASE,
)
_SUFFIX = {"ms": "ms", "us": "us", "ns": "ns", "s": "s", "min": "min", "%": "percent", "x": "times"}


def slug(words: str) -> str:
    """Return words as a name: lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"[(\[（].*?[)\]）]", " ", words).lower()).strip("_")[:40]


def own_words(heading: str) -> str:
    """Return what is left of a heading without its quantity and unit: "v6.1.0" of "v6.1.0 95% latency (ms)"."""
    return " ".join(_WORDS.sub(" ", re.sub(r"[(\[（].*?[)\]）]", " ", heading)).replace("_", " ").split()).strip(
        " -/,:"
    )


def column_name(column: Column, own: str) -> str:
    """Return the name of a column without what is its own (a product, a component): tps, p95_ms, speed_mb_s."""
    unit = _SUFFIX.get(
        column.unit, slug(column.unit.replace("/", "_")) if column.unit not in {"", "1", "1/s", "1/min"} else ""
    )
    heading = column.heading.lower()
    if column.quantity == "concurrency":
        return "threads"
    heading = AT_LEVEL.sub("", heading)
    rate = next((word for word in ("tpmc", "tps", "qps", "rps", "iops", "ops") if word in heading), "")
    base = (
        f"p{column.percent:g}".replace(".", "_")
        if column.quantity == "percentile" and column.percent
        else rate
        if rate and column.quantity in {"throughput", ""} and not unit
        else "tps"
        if column.unit == "1/s" and not re.search("[a-z]{3}", slug(column.heading))
        else {
            "throughput": "speed" if unit else "throughput",
            "mean": "mean",
            "min": "min",
            "max": "max",
            "latency": "latency",
        }.get(column.quantity, "")
    )
    base = base or (slug(column.heading) if not own else "") or column.quantity or "value"
    return f"{base}_{unit}" if unit and not base.endswith(f"_{unit}") else base
