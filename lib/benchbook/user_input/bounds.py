"""Numbers and names that a user gives, within what can be meant: a slip of the keyboard is refused, not tried."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

# Whole numbers are strict: `true` is no 1, and "1e6" no million.
Count = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Repetitions = Annotated[int, Field(ge=1, le=10_000, strict=True)]
RepetitionsOrNone = Annotated[int, Field(ge=0, le=10_000, strict=True)]
Threads = Annotated[int, Field(ge=1, le=100_000, strict=True)]
Tables = Annotated[int, Field(ge=1, le=10_000, strict=True)]
Rows = Annotated[int, Field(ge=1, le=10_000_000_000, strict=True)]
RowsOrNone = Annotated[int, Field(ge=0, le=10_000_000_000, strict=True)]
# Requests or transactions a second; 0 = closed loop.
Rate = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
Seconds = Annotated[int, Field(ge=1, le=86_400, strict=True)]
SecondsOrNone = Annotated[int, Field(ge=0, le=86_400, strict=True)]
# As sysbench takes it: a 32-bit number.
Seed = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
Megabytes = Annotated[int, Field(ge=1, le=100_000_000, strict=True)]
Minutes = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
# Rows of all tables of a data set together: at 200 B each, 20 TB.
MOST_ROWS = 100_000_000_000


def matching(pattern: str, form: str) -> AfterValidator:
    """Return a check that a whole text matches a pattern; `form` says in words what the text must be."""
    whole = re.compile(pattern)

    def check(text: str) -> str:
        if not whole.fullmatch(text):
            raise PydanticCustomError("form", f"must be {form}", {"odd": _odd(whole, text)})
        return text

    return AfterValidator(check)


def _odd(whole: re.Pattern[str], text: str) -> str:
    """Return the characters without which a text matches, "" where it is not for them."""
    odd = ""
    while text and not whole.fullmatch(text):
        begun = whole.match(text)
        if not (one := text[begun.end() if begun else 0 :][:1]):
            break
        odd, text = odd + one, text.replace(one, "")
    return odd if whole.fullmatch(text) else ""
