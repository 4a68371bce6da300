"""What a comparison is asked for, by the notebook's parameters as by the command's options."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from benchbook.compare import cells
from benchbook.stats.campaign_effect import STATED


class CompareParameters(BaseModel):
    """`a` and `b` are addresses (see `address`), `mapping` holds `SYSTEM_OF_A=SYSTEM_OF_B` pairs.

    `without` names campaigns that the history of repeated campaigns must not count; `campaign_effect` is what campaigns
    of one system are taken to differ by (a share) until a history shows more. See also `pair.compare`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    a: str
    b: str = ""
    accept: list[str] = []
    subject: list[str] = []
    mapping: list[str] = []
    metric: list[str] = []
    margin: float = cells.MARGIN
    without: list[str] = []
    campaign_effect: float = STATED
