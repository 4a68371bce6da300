"""`benchbook plan`: what a run can say of each claim, and how long it takes, before it runs."""

from collections.abc import Mapping

import pandas as pd
from rich.console import Console

from benchbook import pipeline, published
from benchbook.campaign.design import RunForecast
from benchbook.claims import claims_terminal
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports import forecast as run_forecast
from benchbook.reports import planning
from benchbook.reports.kind import kind_of


def forecast(report: str, said: Mapping[str, object], budget: str) -> RunForecast:
    """Return the forecast of a run that is asked for like this. Raise BadInput, HostUnusable."""
    budget_s = _seconds(budget) if budget else None
    asked = pipeline.checked(report, said)
    profile, inventory, data = load_profile(asked.profile), load_inventory(asked.inventory), published.load(report)
    pipeline.check_run(data, asked, profile, inventory)
    kind = kind_of(report)
    asking = planning.Asking(kind, data, asked, profile, inventory)
    found = planning.as_run_here(asking)
    experiment = kind.experiment(data, asked, profile, inventory)
    return run_forecast.forecast(asking, found, planning.trials(asking, found), experiment, budget_s)


def _seconds(budget: str) -> float:
    try:
        found = pd.Timedelta(budget).total_seconds()
    except ValueError:
        found = 0.0
    if not found > 0:
        raise BadInput("is not a duration", key="--budget", value=budget, fix="write it as 30min or 2h")
    return found


def show(report: str, made: RunForecast, console: Console) -> None:
    """Print the forecast: a line per claim, how long the run takes, and what that is reckoned from."""
    claims_terminal.print_rows(run_forecast.rows(made), console)
    console.print(f"[bold]{report}[/]: {run_forecast.sentence(made)}")
    console.print("\n".join(made.sources), markup=False)
