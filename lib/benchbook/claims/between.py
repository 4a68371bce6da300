"""Hypotheses about named figures: a ratio is what was published, figures stand in an order, one lies above others."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from benchbook.claims.ledger import Between, Dominates, Figure, Order, Ratio, Rows
from benchbook.claims.ledger_check import levels_of
from benchbook.claims.parts import Part, at_least, within
from benchbook.claims.terms import Lookup, contrast, logs, name, words
from benchbook.published.tables import Published


def parts(claim: Between, published: Published, lookup: Lookup, printed: Lookup) -> list[Part]:
    """What must hold for the claim, where `printed` looks up the published figures; raises NotMeasured."""
    if isinstance(claim, Ratio):
        region = within(claim.tolerance, of=math.exp(float(logs(claim, printed).iloc[0])))
        return [Part(name(claim, published), np.asarray(logs(claim, lookup), dtype=np.float64), *region, main=True)]
    if isinstance(claim, Order):
        pairs = pairwise(claim.figures)
        return [_above(a, b, {}, claim.at_least, published, lookup) for a, b in pairs]
    return _dominates(claim, published, lookup)


def _dominates(claim: Dominates, published: Published, lookup: Lookup) -> list[Part]:
    return [
        _above(claim.figure, below, level, claim.at_least, published, lookup)
        for below in claim.above
        for level in levels_of(claim, published)
    ]


def _above(a: Figure, b: Figure, level: Rows, ratio: float, published: Published, lookup: Lookup) -> Part:
    where = f", {words(level)}" if level else ""
    what = f"{name(a, published)} against {name(b, published)}{where}"
    return Part(what, contrast(logs(a, lookup, level), logs(b, lookup, level)), *at_least(ratio))
