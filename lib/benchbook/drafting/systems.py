"""What a document is about: its title and date, and its systems with their versions."""

from __future__ import annotations

import re
from typing import Any

from benchbook.documents.tables import Reading
from benchbook.drafting.guesses import Guesses


def title_of(read: Reading) -> str:
    """Return the first heading."""
    return next((block.text.strip() for block in read.blocks if block.kind == "heading"), "")


def date_of(read: Reading) -> str:
    """Return the first date that is printed, in the words of the document."""
    found = re.search(
        r"\b20\d\d-[01]\d-[0-3]\d\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) (?:\d+, )?20\d\d\b|20\d\d ?年 ?\d+ ?月",
        read.text,
    )
    return found[0] if found else "no date printed"


def language_of(read: Reading) -> str:
    """Return zh where a fifth of the letters outside code are Chinese (35 to 47% in three such reports), else en."""
    letters = re.findall(r"[^\W\d_]", "".join(block.text for block in read.blocks if block.kind != "code"))
    return "zh" if sum("\u4e00" <= one <= "\u9fff" for one in letters) > 0.2 * len(letters) else "en"


SYSTEMS = "TiDB|TiKV|PD|TiFlash|MySQL|MariaDB|PostgreSQL|Percona Server|Redis|MongoDB|etcd|DM|DTM|sysbench|pgbench|go-tpc|PgBouncer|PgCat|YCSB"
_VERSION = re.compile(
    rf"\b({SYSTEMS})\b(?:\s?(?:Server|cluster|source|target))?[ ]?(?:version|版本)?\s*[:：]?\s*(v?\d+(?:\.\d+)+[\w.-]*)",
    re.IGNORECASE,
)
_LOADS = {"sysbench", "pgbench", "go-tpc", "YCSB"}


def systems_of(read: Reading, guesses: Guesses) -> list[dict[str, Any]]:
    """Return the systems that are named with their versions, or in the title; load generators last."""
    found: dict[str, list[str]] = {}
    for match in _VERSION.finditer(read.text):
        name = next((one for one in SYSTEMS.split("|") if one.lower() == match[1].lower()), match[1])
        version = match[2].rstrip(".")
        if version not in found.setdefault(name, []):
            found[name].append(version)
            line = read.text.count("\n", 0, match.start()) + 1
            guesses.add(
                "report.yaml",
                f"systems.{name}.version",
                version,
                line,
                0.8 if len(found[name]) == 1 else 0.5,
                " ".join(match[0].split()),
            )
    if not found.keys() - _LOADS and (titled := re.findall(r"\b([A-Z]\w*[A-Za-z]) v?(\d+(?:\.\d+)+)", title_of(read))):
        found[titled[0][0]] = list(dict.fromkeys(version for name, version in titled if name == titled[0][0]))
    product = next((one for one in SYSTEMS.split("|") if re.search(rf"\b{one}\b", title_of(read), re.ASCII)), "")
    if product and product not in _LOADS:
        found.setdefault(product, [])
    for block in read.blocks:
        cluster = re.fullmatch(r"(?:Cluster )?version\s*[:：]\s*(v?\d[\w.-]+)", block.text.strip(), re.IGNORECASE)
        if cluster and product and not found.get(product):
            found[product] = [cluster[1]]
    for name, versions in found.items():
        found[name] = [one for one in versions if not any(other != one and other.startswith(one) for other in versions)]
    return [
        {"name": name, **({"version": ", ".join(versions)} if versions else {})}
        for name, versions in sorted(found.items(), key=lambda one: one[0] in _LOADS)
    ]
