"""A cell as its report would begin it: what cannot run is refused before the first cell starts; no host is touched."""

from __future__ import annotations

from benchbook import parameters, published
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.batch_plan import BatchPlan
from benchbook.claims import ledger_check, more
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.kinds import kind_of


def trials_of(plan: BatchPlan, cell: BatchCell) -> int:
    """How many trials the cell plans at first. Raises BadInput naming the plan and the cell."""
    try:
        return _trials(cell)
    except BadInput as problem:
        fix = "mend that, or leave the cell out under `exclude`"
        key = f"cell {cell.number}"
        raise BadInput(f"{cell} cannot run: {problem}", file=plan.file, key=key, fix=fix) from problem


def _trials(cell: BatchCell) -> int:
    kind = kind_of(cell.report)
    said = {"profile": cell.profile, "inventory": cell.inventory, **dict(cell.parameters)}
    asked = parameters.check(kind.Parameters, cell.report, {**parameters.defaults(cell.report), **said})
    profile, inventory = load_profile(cell.profile), load_inventory(cell.inventory)
    data = published.load(cell.report)
    ledger = ledger_check.load(data)
    designed = kind.cells(data, asked)
    # Which hosts it would take: an inventory that lacks a role says so here.
    kind.experiment(data, asked, profile, inventory).hosts()
    count = asked.repetitions or kind.repetitions(profile)
    if asked.repetitions or not profile.repetitions_unjudged:
        return len(designed) * count
    less = more.unjudged(ledger, designed, kind.asked(data, asked, profile, inventory), data, None)
    return (len(designed) - len(less)) * count + len(less) * min(count, profile.repetitions_unjudged)
