"""What a run found, as `site/<report>.json`: the one file that other programs, and the site's index, read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
)

from benchbook.analysis.schema import CLAIMS, typed
from benchbook.campaign.store import Campaign
from benchbook.documents.findings import Finding
from benchbook.errors import BadInput
from benchbook.user_input.atomic_file import replace_text

# A claim's state on a page: the answer here where these hosts could give it, else what it waits for.
Verdict = Literal["holds", "fails", "open", "needs a bigger machine", "not run"]
Here = Literal["holds", "fails", "open"]
Speaks = Literal["both ways", "confirm only", "refute only", "nothing"]


def _as_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


UtcTime = Annotated[AwareDatetime, AfterValidator(_as_utc), PlainSerializer(_iso, when_used="json")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", allow_inf_nan=False)


class SystemSummary(_Strict):
    """A system under test; `title` is what it is to people, `stand_in_for` the published system if it is another."""

    name: str
    version: str
    title: str = ""
    stand_in_for: str | None = None


class Trials(_Strict):
    """Counts of trials: planned by the design, done (recorded whole), recorded as failed.

    `disturbed` counts measurements: those that something interfered with, and that therefore are left out.
    """

    planned: int = Field(ge=0)
    done: int = Field(ge=0)
    failed: int = Field(ge=0)
    disturbed: int = Field(default=0, ge=0)

    @property
    def whole(self) -> bool:
        """Whether there is a record of every trial that was planned."""
        return 0 < self.planned <= self.done


Bounds = tuple[float | None, float | None]


class JudgedClaim(_Open):
    """One checkable statement and what came of it on one system.

    `what` says what `effect` measures, in `unit` ("times" = a ratio, "tau" = a rank correlation); `interval` belongs to
    it at `confidence`, `region` is where the claim puts it, `published` the same of the published table. `n` counts
    repetitions. `p_value` is adjusted for all claims of the ledger (Holm) and all looks, and settles a claim below
    `alpha`, the chance that any verdict of the ledger is wrong. `decide` says what would
    settle it, `needed` how many repetitions at the spread seen (null where it is settled, or where no number up to 100
    would do).
    `here` is the answer on these hosts from the repetitions alone (null: not measured), `leaning` the probability that
    the claim holds here, 0 to 1 (null below two repetitions). `speaks` is what these hosts could say of the report
    whatever came out, and `reason` why no more; `verdict` is `here` where `speaks` allows it.
    `chances` is not written: that it is decided by 1, 2, ... further repetitions, for who has some to give.
    """

    id: str
    statement: str
    verdict: Verdict
    here: Here | None = None
    speaks: Speaks | None = None
    system: str = ""
    where: str = ""
    hypothesis: str = ""
    what: str = ""
    effect: float | None = None
    unit: str = ""
    interval: Bounds | None = None
    confidence: float | None = None
    region: Bounds | None = None
    published: float | None = None
    n: int | None = None
    p_value: float | None = None
    alpha: float = Field(default=0.05, gt=0, lt=1)
    decide: str = ""
    needed: int | None = None
    leaning: float | None = Field(default=None, ge=0, le=1)
    chances: tuple[float, ...] = Field(default=(), exclude=True)
    reason: str = ""
    sentence: str = ""

    def __repr__(self) -> str:
        return f"<JudgedClaim {self.id} on {self.system}: {self.verdict}, n {self.n}>"


class MachineTime(_Strict):
    """Load time of the recorded trials, in seconds, against the durations that the report gave the same trials.

    `published_s` and `share` are null where the report states no duration. `ended` says why no repetition was added.
    """

    trials: int = Field(ge=0)
    load_s: float = Field(ge=0)
    wall_s: float = Field(ge=0)
    published_s: float | None = None
    share: float | None = None
    planned: int = Field(ge=0)
    ended: str = ""


class Circumstances(_Strict):
    """What was measured on what, and what was published on what; short texts for people, empty where nobody knows.

    `where` and `data` are words of a sentence ("2 shared cores", "1,000-row tables"); `unsure` is one on figures that
    are not to be relied on, `crowded` one on CPU that others took; the lists hold a line each. `measured_by`: versions
    and commits of the kit. `scaled`: per table and level, what was run for each published one (as text) that the
    tables name; empty where that itself was.
    """

    where: str = ""
    data: str = ""
    unsure: str = ""
    crowded: str = ""
    hosts: list[str] = []
    load: list[str] = []
    measured_by: list[str] = []
    scaled: dict[str, dict[str, dict[str, int]]] = {}
    published_product: str = ""
    published_url: str = ""
    published_date: str = ""
    published_cores: int | None = None
    published_systems: list[str] = []
    published_hosts: list[str] = []
    published_load: list[str] = []


def bibtex(report: str, title: str, campaign: str, trials: int, run_on: str, setting: Circumstances) -> str:
    """Return two entries for a bibliography: the published report, and the campaign that restages it."""
    kit = f"; Benchbook {', then '.join(setting.measured_by)}" if setting.measured_by else ""
    published = {
        "title": title,
        "note": ", ".join(filter(None, (setting.published_product, setting.published_date))),
        "url": setting.published_url,
    }
    restaged = {
        "title": f"{title}, restaged",
        "note": f"Benchbook campaign {campaign}, {trials} trials, run on {run_on}{kit}",
        "year": run_on[:4],
    }
    entries = ((f"techreport{{{report}", published), (f"misc{{{report}_{campaign}", restaged))
    return "\n".join(f"@{head},\n{_bibtex_fields(fields)}}}\n" for head, fields in entries)


def _bibtex_fields(fields: Mapping[str, str]) -> str:
    """Return the fields that are not empty; what LaTeX would take for a command is escaped."""
    escaped = {name: re.sub(r"([&%$#_{}])", r"\\\1", text) if name != "url" else text for name, text in fields.items()}
    return "".join(f"  {name} = {{{text}}},\n" for name, text in escaped.items() if text)


class Results(_Strict):
    """All that one run of one report found; `failed` holds the reason when the run itself broke off.

    `said` is the sentence that stands first, where it is not made of the claims. `cells`: the rows of
    `report.beside_frame()`, without what is missing (of a comparison, those of its cells). `audit` is what does not
    fit in the published report, `audit_passed` how many checks of each kind found nothing.
    """

    format: Literal[1] = 1
    report: str
    title: str
    said: str = ""
    profile: str
    inventory: str
    campaign: str
    started: UtcTime
    finished: UtcTime | None = None
    systems: list[SystemSummary] = []
    setting: Circumstances = Circumstances()
    trials: Trials
    machine_time: MachineTime | None = None
    cells: list[dict[str, Any]] = []
    audit: list[Finding] = []
    audit_passed: dict[str, int] = {}
    claims: list[JudgedClaim] = []
    figures: list[dict[str, Any]] = []
    failed: str | None = None

    @field_validator("cells")
    @classmethod
    def _finite(cls, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for place, row in enumerate(cells):
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError(f"{name} of row {place} must be a finite number: {value}")
        return cells


def claims_frame(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """Return a row per claim and system; see `schema.CLAIMS`."""
    return typed(pd.DataFrame([_claim(one) for one in judged]), CLAIMS)


def _claim(one: JudgedClaim) -> dict[str, object]:
    # An interval that is open at an end is infinite there; without an interval both ends are missing.
    low, high = one.interval or (math.nan, math.nan)
    region_low, region_high = one.region or (None, None)
    return {
        **one.model_dump(),
        "claim": one.id,
        "low": -math.inf if low is None else low,
        "high": math.inf if high is None else high,
        "region_low": region_low,
        "region_high": region_high,
    }


def counted(campaign: Campaign) -> Trials:
    """Return what became of a campaign's trials, as far as they were run."""
    return Trials(
        planned=len(campaign.trials),
        done=len(campaign.records()),
        failed=len(campaign.failures()),
        disturbed=len(campaign.disturbed()),
    )


def parse(mapping: object, file: Path | None = None) -> Results:
    """Check a mapping against the schema. Raise BadInput naming the first key that is wrong."""
    try:
        return Results.model_validate(mapping)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or None
        fix = "run the notebook again, so that it writes its results anew"
        raise BadInput(first["msg"], file=file, key=key, value=first["input"], fix=fix) from error


def read(path: Path) -> Results:
    """Read `site/<report>.json`. Raise BadInput when it is missing, not JSON or not of this format."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")), path)
    except FileNotFoundError as error:
        raise BadInput("there are no results", file=path, fix="run the report first") from error
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", file=path, fix="run the report again") from error
    except (ValueError, RecursionError) as error:  # json.JSONDecodeError and UnicodeDecodeError; nested without end
        raise BadInput(f"not JSON: {error}", file=path, fix="run the report again") from error


def write(results: Results, path: Path) -> Path:
    """Write the results as JSON, whole or not at all (temporary file, then rename)."""
    return replace_text(path, results.model_dump_json(indent=1) + "\n")
