"""A report of imported logs: there is a campaign to look at, and nothing to run."""

from __future__ import annotations

from benchbook.analysis.checks import LITTLE_TOLERANCE, Check
from benchbook.campaign.design import Cell
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.parameters import Parameters
from benchbook.published import Published
from benchbook.reports.kind import Kind, RunRequest
from benchbook.stats import latency
from benchbook.workloads import sysbench_output
from benchbook.workloads.printed_load import MOST_FAILED

NAME = "logs"


class LogsParameters(Parameters):
    """Those of every notebook; all that counts are `replay`, which must be set, and `campaign`."""

    replay: bool = True


class LogsKind(Kind[LogsParameters]):
    """What `benchbook import logs` lays down."""

    Parameters = LogsParameters
    clients = ("threads",)

    def cells(self, published: Published, parameters: LogsParameters) -> list[Cell]:
        raise _refused(published)

    def asked(self, request: RunRequest) -> dict[str, object]:
        raise _refused(request.published)

    def experiment(self, request: RunRequest) -> Experiment:
        raise _refused(request.published)

    def builds(self, request: RunRequest) -> list[str]:
        return []

    def record_checks(self, record: Record) -> list[Check]:
        """Return Little's law, failed requests and percentiles beyond a histogram, where what they need was printed."""
        value = {name: quantity.value for name, quantity in record.summary.items()}
        found = []
        threads = record.levels.get("threads")
        if isinstance(threads, int) and "rate" not in record.levels and {"tps", "latency_mean_ms"} <= value.keys():
            law = latency.little(threads, value["tps"], value["latency_mean_ms"], tolerance=LITTLE_TOLERANCE)
            found.append(Check(record.id, "Little's law", law.holds, f"{law.in_flight:.1f} of {threads} threads busy"))
        # One request may be counted as both of ApacheBench's.
        counts = [value[name] for name in ("failed", "ignored_errors", "non_2xx") if name in value]
        if counts:
            failed, again = max(counts), value.get("reconnects", 0.0)
            # etcd's benchmark, YCSB and memtier_benchmark do not print how many were answered.
            answered = value.get("events", value.get("tps", 0.0) * value.get("total_time_s", 0.0))
            share = failed / max(1.0, answered or failed)
            said = f"{failed:g} failed ({share:.2%})" + (f", {again:g} reconnects" if again else "")
            found.append(Check(record.id, "errors", share <= MOST_FAILED and not again, said))
        if record.table.startswith("sysbench"):
            found += sysbench_output.latency_range(record)
        return found


def _refused(published: Published) -> BadInput:
    name = published.report.name
    fix = f"show it: `benchbook site {name}`; a report of your own that can be run: `benchbook new`"
    return BadInput(
        "imported logs cannot be run again: nobody knows on what they ran", key="report", value=name, fix=fix
    )
