"""Units of printed columns, as far as arithmetic needs them: bytes and seconds, and how large the unit is."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchbook.published.time_units import SECONDS

_BYTES = {"b": 0, "byte": 0, "bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4}
_SUFFIX = re.compile(r"_(?:(?P<bytes>[kmgt]b|bytes)(?P<rate>_s)?|(?P<time>ns|us|ms|s|min|h))$")


class Measure(NamedTuple):
    """What a column is measured in: powers of bytes and of seconds, the size in seconds, and that of bytes (2 for MB).

    A plain count has no powers.
    """

    bytes: int = 0
    seconds: int = 0
    size: float = 1.0
    kilo: int = 0


def of_unit(unit: str) -> Measure | None:
    """ "MB/s", "ms", "1/s", "threads"; None for a share in percent, which is no count."""
    above, _, below = unit.partition("/")
    if unit.startswith("%"):
        return None
    kilo = _BYTES.get(above.lower())
    if below:
        per = SECONDS.get(below)
        return Measure(int(kilo is not None), -1, 1 / per, kilo or 0) if per else None
    if above in SECONDS:
        return Measure(0, 1, SECONDS[above])
    return Measure(int(kilo is not None), 0, 1.0, kilo or 0)


def of_name(name: str) -> Measure:
    """What a fixed level's name ends in, as the rules of transcription ask: `time_s`, `data_gb`; else a count."""
    found = _SUFFIX.search(name)
    if not found:
        return Measure()
    if found["time"]:
        return Measure(0, 1, SECONDS[found["time"]])
    return Measure(1, -1 if found["rate"] else 0, 1.0, _BYTES[found["bytes"]])
