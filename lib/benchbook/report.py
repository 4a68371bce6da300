"""A report in a notebook: one object, with a method for each thing that a reader wants to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
from IPython.display import HTML, display
from matplotlib.figure import Figure
from seaborn.axisgrid import Grid

from benchbook import paths, plots, published
from benchbook.analysis import checks, cpu_use, summary
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.results import JudgedClaim
from benchbook.audit.report_audit import audit
from benchbook.campaign import max_rate, repetitions, run, store
from benchbook.campaign.design import PlannedFrom, RunForecast
from benchbook.campaign.max_rate import KneeSearch
from benchbook.campaign.progress import Listener, listeners, tell_command_line
from benchbook.campaign.repetitions import OpenClaim
from benchbook.campaign.run import GO_ON, RunInterrupted, are_left
from benchbook.campaign.scaled_levels import trials_as_published
from benchbook.campaign.store import Campaign
from benchbook.claims import judge, ledger, section, undecided
from benchbook.compare.address import find
from benchbook.display import differences as show_differences
from benchbook.display import show
from benchbook.display.live_progress import LiveView
from benchbook.errors import BenchbookError
from benchbook.hosts.inventory import load_inventory
from benchbook.parameters import check, defaults
from benchbook.plots import output
from benchbook.plots.trials import knee_frame, knee_in_words
from benchbook.profiles import load_profile
from benchbook.reports import forecast as run_forecast
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest, kind_of, settings_of
from benchbook.user_input.choices import one_of


class TrialsFailed(BenchbookError):
    """The campaign went to its end, but not every trial was measured."""


class Report(Recorded):
    """A report and a campaign that runs it again; made by `open_report` or `open_campaign`."""

    def __init__(self, report: str, given: Mapping[str, object]) -> None:
        self.kind = kind_of(report)
        self.published = published.load(report)
        self.parameters = check(self.kind.Parameters, report, given)
        self.report = report
        self._campaign: Campaign | None = None
        self._judged: tuple[int, list[JudgedClaim]] | None = None
        self._knee: KneeSearch | None = None
        if not self.parameters.replay:
            self.profile = load_profile(self.parameters.profile)
            self.inventory = load_inventory(self.parameters.inventory)
            self._request = RunRequest(self.kind, self.published, self.parameters, self.profile, self.inventory)
            self._experiment = self._request.experiment()
            self._knee = self.kind.knee(self._request)

    def __repr__(self) -> str:
        """It makes no plan: whoever looks at a report asks for nothing."""
        if self._campaign is None and not self.parameters.replay:
            return f"<Report {self.report}: not planned yet>"
        return f"<Report {self.report}: {self.campaign!r}>"

    # -- before the run -----------------------------------------------------------------------------------------

    def plan(self) -> HTML:
        """Make the plan, or find the campaign that was asked for the same; shown as counts per table.

        A finished one stays finished, unless the parameter `again` is set.
        """
        return show.stack([show_differences.plan(self.campaign), *self._finished(), *self._search_planned()])

    def _search_planned(self) -> list[HTML]:
        """Return what the search for the knee may cost, where one was asked for."""
        if self._knee is None:
            return []
        slo, count = self._knee.slo, len(max_rate.cells(self.campaign.trials))
        each = f"{count} searches, each of at most {slo.most_trials} loads" if count > 1 else f"{slo.most_trials} loads"
        said = f"After it, the highest rate with a p99 of {slo.p99_ms:g} ms is searched for: at most {each}"
        return [show.paragraph(f"{said} of {slo.time_s} s or more, and {slo.most_min:g} min in all.")]

    def _finished(self) -> list[HTML]:
        """That there is nothing left to do: every trial is measured, and no repetition can still be added."""
        if self.parameters.replay or self.campaign.missing():
            return []
        if self._request.repeating and not self.environment.repetitions_ended:
            return []
        made = self.campaign.plan.made[:16].replace("T", " ")
        said = f"This was measured on {made} UTC and is finished. `again = True` measures it anew."
        return [show.paragraph(said)]

    @property
    def campaign(self) -> Campaign:
        """The campaign on disk. Made on first use; in a replay, the one that was recorded."""
        if self._campaign is None:
            asked = self.parameters
            self._campaign = store.latest(self.report, asked.campaign) if asked.replay else self._planned()
            tell_command_line(campaign=self._campaign.id)
        return self._campaign

    def _planned(self) -> Campaign:
        request = self._request
        found = planning.as_run_here(request)
        trials, seed = planning.trials(request, found), self.parameters.seed
        origin = PlannedFrom(parameters=self.parameters.model_dump(mode="json"), settings=settings_of(self.inventory))
        again = self.parameters.again
        return store.start_or_continue(self.report, found.asked, trials, seed=seed, again=again, planned_from=origin)

    def forecast(self) -> HTML:
        """What these hosts can say of each claim, and how long the run takes; once it has run, beside what came out.

        Raise HostUnusable where a host cannot be asked for its cores.
        """
        kept = self.campaign.plan.forecast
        if self.records or self.parameters.replay:
            if kept is None:
                return show.paragraph("Nothing was forecast before this campaign ran.")
            rows = run_forecast.beside_outcome(kept, self.claims())
            took = f"forecast {kept.wall_s / 60:.1f} min, took {self.campaign.spent_s / 60:.1f} min"
            return show.table(rows, f"What was known before the run, and what came out: {took}")
        made = kept or self._forecast()
        return show.stack([
            show.table(run_forecast.rows(made), run_forecast.sentence(made)),
            show.paragraph(" ".join(made.sources)),
        ])  # fmt: skip

    def _forecast(self) -> RunForecast:
        """Made before the first trial, and kept with the plan."""
        made = run_forecast.forecast(self._request, self.campaign.asked, self.campaign.trials)
        self.campaign.keep_forecast(made)
        return made

    def provenance(self) -> HTML:
        """What was published, what its audit finds, the hosts, the plan, the forecast, and what the loads took."""
        then = self.parameters.replay
        here = show_differences.recorded_hosts(self.campaign) if then else show_differences.hosts_here(self.inventory)
        parts = {
            "What was published": show.published(self.published),
            "What the audit finds": show.audit(audit(self.published)),
            "Where it ran": show.stack([show_differences.published_hosts(self.published), here]),
            "The plan": self.plan(),
            "The forecast": self.forecast(),
            "Machine time": show_differences.time_spent(self.published, self.campaign),
        }
        return show.stack([part for title, shown in parts.items() for part in (show.heading(title), shown)])

    # -- the run ------------------------------------------------------------------------------------------------

    def run(self) -> HTML:
        """Run what is missing, with live progress, and return what failed; in a replay nothing runs.

        Run again, it runs only what is left; of a campaign that is finished it says when it was measured.

        Raise TrialsFailed where no trial at all was measured: there is nothing to show but why.
        """
        finished = self._finished()
        if not self.parameters.replay and not finished:
            # Results of an earlier attempt must not pass for this one's if it breaks off.
            (self.campaign.folder / paths.RESULTS).unlink(missing_ok=True)
            if not self.campaign.done():
                # What is wrong with a host, or with an earlier campaign, is for the run to wait for, and to name.
                with suppress(BenchbookError):
                    display(show.paragraph(run_forecast.sentence(self._forecast())))
            _watched(self.campaign, self._drive)
        failures = self.failures()
        if not self.records:
            display(failures)
            self.finish()
        return show.stack([*finished, failures])

    def _drive(self, told: Listener, stop: Callable[[], bool]) -> None:
        campaign, experiment, tries = self.campaign, self._experiment, self.profile.tries
        if rule := self._request.repeating:
            repetitions.run_until_decided(campaign, experiment, told, rule, self.undecided, stop, tries=tries)
        else:
            run.run(campaign, experiment, told, stop=stop, tries=tries)

    def knee(self) -> HTML:
        """The highest offered rate that keeps the latency of `slo`: searched for where that is asked for, and shown.

        In a replay nothing runs. Without a search, one sentence.
        """
        recorded = max_rate.latest(self.campaign)
        if asked := self._knee:
            # The one that is asked for is gone on with to its end: another one may have been begun later.
            recorded, tries = max_rate.begun(self.campaign, asked.slo), self.profile.tries
            search = partial(max_rate.run_search, recorded, asked.experiment, tries=tries)
            _watched(recorded, search)
        if recorded is None:
            fix = 'the parameter slo = {"p99_ms": 10} asks for the highest rate at which 99% take at most 10 ms'
            return show.paragraph(f"No latency target was set: {fix}.")
        searches = max_rate.searched(recorded)
        parts = [show.paragraph(knee_in_words(each)) for each in searches]
        if not knee_frame(searches).empty:
            parts.append(output.picture(self.save_figure(plots.knee(searches), "knee")))
        use, environment = cpu_use.of_campaign(recorded), recorded.environment()
        found = checks.all_checks(recorded.records(), use, environment, self.kind.record_checks)
        return show.stack([*parts, show_differences.check_summary(found)])

    def undecided(self) -> list[OpenClaim]:
        """Return the claims that still need repetitions, with their cells, if the profile's most could decide them."""
        repeating = self.profile.repeat
        return undecided.open_claims(
            ledger.load(self.published),
            self.claims(),
            self.campaign.trials,
            self.published,
            self.campaign.scaling,
            most=repeating.most_repetitions if repeating else 0,
        )

    def failures(self) -> HTML:
        """Trials without a record, and why, and measurements that do not count; one sentence when there is none."""
        failed, disturbed = self.campaign.failures(), self.campaign.disturbed()
        counts = f"{len(self.records)} of {len(self.campaign.trials)} trials recorded, {len(failed)} failed."
        rows = [
            {"trial": r.id, "why": r.failure.message, "last lines": " | ".join(r.failure.tail)}
            for r in failed
            if r.failure
        ]
        parts = [show.table(rows, counts) if rows else show.paragraph(counts)]
        if disturbed:
            kept: list[Any] = self.disturbances()[["trial", "try", "why"]].to_dict("records")
            parts.append(show.table(kept, "Disturbed measurements: kept, not counted"))
        if said := summary.first_tries_in_words(self.records, disturbed):
            parts.append(show.paragraph(said))
        return show.stack(parts)

    # -- after the run ------------------------------------------------------------------------------------------

    def differences(self) -> HTML:
        """Published environment against this one, stand-ins by name, and what was waived about the hosts."""
        return show_differences.environment(self.published, self.campaign)

    def checks(self) -> HTML:
        """Little's law, errors, client saturation: counts per check, and every trial that fails one; real stalls."""
        use = cpu_use.of_campaign(self.campaign)
        found = checks.all_checks(self.records, use, self.environment, self.kind.record_checks)
        stalls = summary.stalls_in_words(self.records)
        return show.stack([show_differences.check_summary(found), *([show.paragraph(stalls)] if stalls else [])])

    def beside(self) -> pd.DataFrame:
        """Return what was published beside what was measured; `beside_frame` says more of it."""
        trials = trials_as_published(self.campaign.trials, self.campaign.scaling)
        return self.kind.beside(self.published, self.kind.figures(self.published, self.figures()), trials)

    def published_and_measured(self) -> HTML:
        """Return each published table beside what was measured, with intervals over repetitions."""
        scaling = self.campaign.scaling
        scaled = scaling.of_tables_in(self.records).sentence() if scaling else ""
        tables = {trial.cell.table for trial in self.campaign.trials}
        notes = [scaled, summary.unsure(self.records), *self.kind.asked_otherwise(self.campaign.asked, tables)]
        return show.stack([*map(show.paragraph, filter(None, notes)), show.beside(self.beside(), self.published)])

    def save_figure(self, drawn: Figure | Grid, name: str, alt: str = "", caption: str = "") -> Figure:
        """Save what seaborn or `plots` drew as figures/<name>.png and .svg of the campaign; return its figure.

        `alt` says what a figure of your own shows, to who cannot see it. Names of the report's tables and columns, such
        as `job_tps`, become the words that the report has for them, and numbers on its axes short: 12k for 12000. Raise
        NotWritten.
        """
        figure = plots.described(drawn, alt, caption) if alt else drawn if isinstance(drawn, Figure) else drawn.figure
        output.reword(figure, self.published.titles)
        output.save(figure, self.figure_file(name))
        return figure

    def captioned(self, frame: pd.DataFrame, caption: str) -> HTML:
        """Return a frame as pandas shows it, with a caption; a page calls one without a caption after its section."""
        return show.captioned(frame, caption)

    def claims(self) -> list[JudgedClaim]:
        """Return every claim of the report's ledger on every system, with its verdict."""
        # A section and the results both ask; records are only ever added, so that their number says what was judged.
        count = len(self.records)
        if self._judged is None or self._judged[0] != count:
            self._judged = count, judge.of_campaign(self.campaign, self.published, self.kind)
        return self._judged[1]

    def claims_table(self) -> HTML:
        """Return what holds: each claim's effect and interval against the claimed range, and its sentence."""
        drawn = section.html(self.claims(), self.campaign.folder / "figures", smoke=self.campaign.profile == "smoke")
        between = checks.repetitions_in_words(self.published, self.records)
        return show.stack([drawn, *map(show.paragraph, between)])

    def finish(self) -> HTML:
        """Write results.json; raise TrialsFailed (so that papermill's exit status is not 0) when a trial is missing."""
        summary.write_results(self.published, self.campaign, self.beside(), self.claims())
        missing = self.campaign.missing()
        if missing:
            names = ", ".join([*(trial.id for trial in missing[:5]), *(["…"] if len(missing) > 5 else [])])
            raise TrialsFailed(
                f"{len(missing)} of {len(self.campaign.trials)} trials have no record: {names}. "
                "Run the same again: only these are run."
            )
        return show.paragraph(f"Campaign {self.campaign.id}: results in {self.campaign.folder.name}/results.json.")


def _watched(campaign: Campaign, drive: Callable[[Listener, Callable[[], bool]], None]) -> None:
    """Drive a campaign with live progress. Raise RunInterrupted for Ctrl-C."""
    with LiveView() as view:
        try:
            drive(listeners(view.listeners), view.stop)
        except KeyboardInterrupt:
            raise RunInterrupted(f"interrupted; {are_left(len(campaign.missing()))}: {GO_ON}") from None


def open_report(report: str, **parameters: object) -> Report:
    """Return a report with these parameters, to run it or to replay a campaign.

    Parameters that are not given are those of the report's notebook. Raise BadInput for a parameter, or for something
    that it names, that does not exist.
    """
    one_of(report, published.known_reports(), "report", problem="unknown report")
    return Report(report, {**defaults(report), **parameters})


def open_campaign(address: str) -> Report:
    """Return a recorded campaign: of `REPORT` (its latest), `REPORT~1` (the one before), a campaign's id or folder.

    No host is needed. Raise BadInput that lists what there is.
    """
    found = find(address)
    given = {"inventory": found.inventory or "recorded", "replay": True, "campaign": found.id}
    opened = Report(found.report, given)
    opened._campaign = found
    return opened
