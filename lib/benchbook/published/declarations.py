"""The declarations that an audit reads: what a report's author, or a user, knows to hold in a table or in the text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictStr

from benchbook.documents.findings import Severity
from benchbook.user_input.bounds import matching
from benchbook.user_input.yaml_file import Strict

# Beyond 2^53 a whole number is none any more once it is calculated with.
Whole = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
Fraction = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Scalar = StrictStr | Whole | Fraction
Text = Annotated[str, Field(min_length=1, max_length=200), matching(r"[^\x00-\x1f\x7f]*", "one line of text")]


class Identity(Strict):
    """What must hold between numbers: `left` relation `right`, both arithmetic over columns, constants and facts.

    `rows` limits it to the rows with these levels; a function over rows takes all rows, or those that its own
    conditions name. `tolerance` is relative and for "=" only; `why` is a clause that says where the rule comes from.
    `kind` and `severity` follow from the relation where they are not given.
    """

    id: str
    left: str
    relation: Literal["=", "<=", ">="]
    right: str
    why: str
    rows: dict[str, Scalar] = {}
    tolerance: float = Field(default=0.0, ge=0, lt=1)
    kind: Literal["identity", "bound", "Little's law", "plausibility"] | None = None
    severity: Severity | None = None


class Constant(Strict):
    """An expression that must come to the same in all rows, within the relative `tolerance` of its median."""

    id: str
    expression: str
    tolerance: float = Field(gt=0, lt=1)
    why: str
    severity: Severity = "suspicious"


class Trend(Strict):
    """A metric that must not fall (or rise) from a row to another whose levels in `over` are all at least as large.

    Differences up to the relative `tolerance` do not count.
    """

    id: str
    metric: str
    over: list[str] = Field(min_length=1)
    direction: Literal["increases", "decreases"]
    tolerance: float = Field(default=0.0, ge=0, lt=1)
    why: str
    severity: Severity = "suspicious"


class Companion(Strict):
    """A metric that goes with another one: rows that print it alike must not differ in `beside` by `factor` or more."""

    id: str
    metric: str
    beside: str
    factor: float = Field(default=1.5, gt=1)
    why: str
    severity: Severity = "suspicious"


class Buckets(Strict):
    """A percentile in `rows` that was read from a histogram, so that only the values of its buckets can be printed."""

    id: str
    metric: str
    of: Literal["sysbench"]
    rows: dict[str, Scalar] = {}
    why: str
    severity: Severity = "suspicious"


class Earliest(Strict):
    """The first version of a system that can have been meant, and why no older one can."""

    version: str
    why: str


class OldOption(Strict):
    """A command-line option that a program replaced: from which version on, and by what."""

    option: str
    since: str
    instead: str
