"""A cell as its report would begin it: what cannot run is refused before the first cell starts; no host is touched."""

from __future__ import annotations

from benchbook import published, restage
from benchbook.batch.batch_cell import BatchCell, Planned, load_s
from benchbook.batch.batch_plan import BatchPlan
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports import planning
from benchbook.reports.kinds import kind_of


def planned(plan: BatchPlan, cell: BatchCell) -> Planned:
    """What the cell plans at first. Raises BadInput naming the plan and the cell."""
    try:
        return _planned(cell)
    except BadInput as problem:
        fix = "mend that, or leave the cell out under `exclude`"
        key = f"cell {cell.number}"
        raise BadInput(f"{cell} cannot run: {problem}", file=plan.file, key=key, fix=fix) from problem


def _planned(cell: BatchCell) -> Planned:
    said = {"profile": cell.profile, "inventory": cell.inventory, **dict(cell.parameters)}
    asked, profile = restage.checked(cell.report, said), load_profile(cell.profile)
    inventory = load_inventory(cell.inventory)
    restage.check_run(cell.report, asked, profile, inventory)
    asking = planning.Asking(kind_of(cell.report), published.load(cell.report), asked, profile, inventory)
    # Scaling them to the cores of its hosts makes no cell more or less.
    design = planning.at_published_levels(asking)
    return Planned(len(planning.trials(asking, design)), load_s(design.asked))
