"""The claims of a report with what came of them, in the same five states in a notebook, on its page and a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from IPython.display import HTML

from benchbook import plots
from benchbook.analysis import results
from benchbook.analysis.results import JudgedClaim, Verdict
from benchbook.claims.decisions import MOST_REPETITIONS
from benchbook.claims.verdict_text import chance, number
from benchbook.display import show
from benchbook.display.show import fragment
from benchbook.errors import counted
from benchbook.plots import output

STATES: tuple[Verdict, ...] = get_args(Verdict)
# By state: what several claims do, a sign that tells it without colours, and a class of the style sheet.
PLURAL = {"holds": "hold", "fails": "fail", "needs a bigger machine": "need a bigger machine"}
LOOKS = {
    "holds": ("✓", "good"),
    "fails": ("✕", "bad"),
    "open": ("?", "warn"),
    "needs a bigger machine": ("↑", "more"),
    "not run": ("–", "none"),
}

_HOW = (
    "An interval inside the claimed range: the claim holds here; outside: it fails; across an edge: open. "
    "Intervals are widened for the number of claims: the chance of even one wrong verdict is at most {} (Holm)"
)
_UNLESS = (
    ". This assumes that the repetitions show every state of a cell: one that is slow in 30% of its trials is fast in "
    "all {} in {:.0%} of campaigns"
)


def counts(claims: Sequence[JudgedClaim]) -> str:
    """Return "3 hold, 2 fail, 4 need a bigger machine (here: 1 holds, 3 open)"."""
    said = _counted(STATES, [claim.verdict for claim in claims])
    return ", ".join(f"{each}{here(claims) if 'bigger machine' in each else ''}" for each in said)


def here(claims: Sequence[JudgedClaim]) -> str:
    """Return " (here: 2 hold, 4 open)": what came out here of the claims that need a bigger machine."""
    waiting = [claim.here for claim in claims if claim.verdict == "needs a bigger machine"]
    said = _counted(get_args(results.Here), filter(None, waiting))
    return f" (here: {', '.join(said)})" if said else ""


def _counted(states: Sequence[str], found: Iterable[str]) -> list[str]:
    count = Counter(found)
    return [f"{count[s]} {s if count[s] == 1 else PLURAL.get(s, s)}" for s in states if count[s]]


def rows(claims: Sequence[JudgedClaim]) -> list[dict[str, str]]:
    """Return one line per claim, as short texts."""
    return [
        {
            "claim": c.id,
            "state": c.verdict,
            "here": c.here or "–",
            "speaks": c.speaks or "–",
            "effect": _effect(c),
            "interval": _interval(c),
            "published": _figure(c.published),
            "n": "–" if c.n is None else str(c.n),
            "p": p_value(c.p_value),
            "n to decide": _needed(c),
            "holds here": "–" if c.leaning is None or c.here != "open" else chance(c.leaning),
        }
        for c in claims
    ]


def html(claims: Sequence[JudgedClaim], folder: Path, *, smoke: bool = False) -> HTML:
    """Return per system the picture, then every claim with its state; the pictures are kept in `folder`.

    `smoke`: the loads were too short to judge a system by, and each state says so.
    """
    if not claims:
        return show.paragraph("This report has no ledger of claims.")
    systems = dict.fromkeys(claim.system for claim in claims)
    return show.stack([_system(name, [c for c in claims if c.system == name], folder, smoke) for name in systems])


def _system(name: str, claims: Sequence[JudgedClaim], folder: Path, smoke: bool) -> HTML:
    ordered = sorted(claims, key=lambda claim: STATES.index(claim.verdict))
    of = f"of {len(claims)} claims {counts(claims)}"
    caption = f"{name or 'No system'}{', smoke run' if smoke else ''}: {of}"
    ran = [claim for claim in ordered if claim.verdict != "not run"]
    # Where some were run, the others are folded: a reader came for what came out.
    shown, left_out = (ran, ordered[len(ran) :]) if ran else (ordered, [])
    # What is true of all is said once; details, which differ, stand in the sentence of each claim.
    reasons = {claim.reason for claim in ran}
    reasons = reasons if len(reasons) == 1 else {reason.partition(": ")[0] for reason in reasons}
    why = reasons.pop() if len(ran) > 1 and len(reasons) == 1 else ""
    parts = {"rows": shown, "left_out": left_out}
    lines = {part: [_row(claim, smoke, why) for claim in claims] for part, claims in parts.items()}
    table = fragment("claims", caption=caption, why=why, **lines)
    tested = [claim for claim in claims if claim.unit]
    if not tested:
        return table
    figure = plots.claims(results.claims_frame(tested), smoke=smoke)
    alt, _ = output.words(figure)
    n = min((claim.n for claim in tested if claim.n), default=0)
    unless = _UNLESS.format(counted(n, "repetition"), 0.7**n) if n else ""
    how = f"{_HOW.format(error_rate(tested))}{unless}."
    figure = plots.described(figure, alt, f"{name}: each claim's effect. {how}")
    output.save(figure, folder / f"{name.replace(':', '_')}-claims.png")
    return show.stack([output.picture(figure), table])


def _row(claim: JudgedClaim, smoke: bool, known: str) -> dict[str, object]:
    sign, look = LOOKS[claim.verdict]
    judged = smoke and claim.verdict in ("holds", "fails", "open")
    return {
        **rows([claim])[0],
        "id": f"claim-{claim.id}{f'-{claim.system}' if claim.system else ''}".replace(":", "_"),
        "claim": claim,
        "reason": "" if known and claim.reason.startswith(known) else claim.reason,
        "state": f"{claim.verdict} (smoke)" if judged else claim.verdict,
        "sign": "○" if judged else sign,
        "look": "none" if judged else look,
        "of_here": f"{claim.here} here" if claim.here and claim.here != claim.verdict else "",
    }


def error_rate(claims: Sequence[JudgedClaim]) -> str:
    """Return "5%": what the chance of even one wrong verdict among the claims of a ledger is at most."""
    return f"{100 * claims[0].alpha:g}%"


def _needed(claim: JudgedClaim) -> str:
    if claim.here != "open":
        return "–"
    return str(claim.needed) if claim.needed else f"> {MOST_REPETITIONS}" if (claim.n or 0) > 1 else "2 or more"


def _figure(value: float | None) -> str:
    """Return three significant digits, a zero at the end too: the figures of a column have as many."""
    if value is None or not 0.001 <= abs(value) < 999.5:
        return number(value)
    return f"{value:#.3g}".rstrip(".")


def _effect(c: JudgedClaim) -> str:
    if c.effect is None:
        return "–"
    return f"tau {_figure(c.effect)}" if c.unit == "tau" else f"{_figure(c.effect)}x"


def _interval(c: JudgedClaim) -> str:
    return "–" if c.interval is None else " to ".join(_figure(bound) for bound in c.interval)


def p_value(p: float | None) -> str:
    """Return two significant digits; below 0.001 that it is below."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
