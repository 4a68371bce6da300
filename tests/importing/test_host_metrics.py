"""Host metrics beside imported logs: each program's own way to print times, and what fits no run.

The shapes are those of sysstat 11 and 12 (sar with a German locale as MariaDB's public runs have it), procps 4 (run
here), and dstat 0.7.
"""

from __future__ import annotations

import io
import os
import re
from datetime import datetime
from pathlib import Path

import pytest
from kit import Home
from rich.console import Console
from test_logs import LEVELS, write

import benchbook
from benchbook.errors import OutputNotParseable
from benchbook.importing import host_metrics, logs

SAR_U = """\
Linux 5.10.0-8-amd64 (db1) \t11/27/2026 \t_x86_64_\t(2 CPU)

11:59:58 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
11:59:59 PM     all      1.50      0.00      0.50      0.25      0.00     97.75
12:00:01 AM     all      4.00      0.00      1.00      0.00      0.00     95.00
Average:        all      2.75      0.00      0.75      0.12      0.00     96.38
"""
SAR_GERMAN = """\
Linux 2.6.37 (db1) \t16.04.2012 \t_x86_64_\t(16 CPU)

18,07,11        CPU     %user     %nice   %system   %iowait    %steal     %idle
18,07,16        all      0,43      0,00      0,12      1,25      0,00     98,19
"""
SAR_D = """\
Linux 6.1.0-13-amd64 (db1) \t2026-11-27 \t_x86_64_\t(2 CPU)

10:00:00          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
10:00:01          sda    100.00      8.00   4096.00      0.00     41.04      0.50      2.50     30.00
10:00:01          sdb      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00
"""
IOSTAT = """\
Linux 3.16.0-30-generic (db1) \t06/07/2018 \t_x86_64_\t(2 CPU)

06/07/2018 06:09:16 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.22    0.00    0.14    0.10    0.00   99.54

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s await r_await w_await  svctm  %util
sda               0.01     5.78   24.25    1.05     0.10     0.10    4.54    0.05  108.02   0.09   0.24

06/07/2018 06:09:17 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.00    0.00    5.00    1.00    0.00   74.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s await r_await w_await  svctm  %util
sda               0.00     0.00    7.00  300.00     0.10     2.00    4.54    0.05  108.02   0.09  55.00
"""
VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 2  0      0 826332  91160 1040720   0    0   100   300  900 1800 20  5 74  1  0 2026-11-27 10:00:00
 7  0      0 826000  91160 1040720   0    0     0   400 1000 2000 60 10 30  0  0 2026-11-27 10:00:01
"""
DSTAT = """\
"Dstat 0.7.3 CSV output"
"Host:","db1",,,,"User:","root"
"Cmdline:","dstat -tcd --output x.csv",,,,"Date:","27 Nov 2026 10:00:00 UTC"

"system","total cpu usage",,,,,,"dsk/total",
"time","usr","sys","idl","wai","hiq","siq","read","writ"
27-11 10:00:01,20.409,1.659,74.506,3.404,0.0,0.021,707495.561,82419494.859
"""


def at(*when: int) -> float:
    return datetime(*when).timestamp()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "tool", "first", "expected"),
    [
        (SAR_U, "sar", at(2026, 11, 27, 23, 59, 59), {("cpu.%user", "%"): [1.5, 4.0]}),
        (SAR_GERMAN, "sar", at(2012, 4, 16, 18, 7, 16), {("cpu.%user", "%"): [0.43], ("cpu.%idle", "%"): [98.19]}),
        (SAR_D, "sar", at(2026, 11, 27, 10, 0, 1), {("disk.sda.wkB/s", "kB/s"): [4096], ("disk.sdb.await", "ms"): [0]}),
        (IOSTAT, "iostat", at(2018, 6, 7, 18, 9, 17), {("cpu.%user", "%"): [20], ("disk.sda.w/s", "1/s"): [300]}),
        (VMSTAT, "vmstat", at(2026, 11, 27, 10, 0, 1), {("vmstat.us", "%"): [60], ("vmstat.cs", "1/s"): [2000]}),
        (
            DSTAT,
            "dstat",
            at(2026, 11, 27, 10, 0, 1),
            {("cpu.usr", "%"): [20.409], ("disk.writ", "B/s"): [82419494.859]},
        ),
    ],
)
def test_each_program_s_samples_with_their_times(
    text: str, tool: str, first: float, expected: dict[tuple[str, str], list[float]]
) -> None:
    """What iostat and vmstat print first is a mean since the machine's start."""
    found = host_metrics.read(text)
    assert found is not None
    assert (found.tool, found.samples[0].t) == (tool, first)
    for (metric, unit), values in expected.items():
        assert [(each.value, each.unit) for each in found.samples if each.metric == metric] == [
            (v, unit) for v in values
        ]


def test_a_clock_that_goes_back_has_passed_midnight() -> None:
    found = host_metrics.read(SAR_U)
    assert found is not None
    assert found.samples[-1].t - found.samples[0].t == 2


def test_the_tables_of_a_day_s_file_are_of_one_day_and_those_of_networks_are_no_disks() -> None:
    """`sar -A -f`: CPUs at 10:00:00, disks and network at 10:00:01; live, a disk's sample stands behind the CPU's."""
    cpu = "10:00:00  CPU  %user  %idle\n10:00:01  all  {0}  90\n10:00:02  all  7  93\n\n"
    net = "\n10:00:00  IFACE  rxpck/s\n10:00:01  eth0  5.00\n"
    head, _, disks = SAR_D.partition("\n\n")
    found = host_metrics.read(f"{head}\n\n{cpu.format(10)}{disks}{net}")
    assert found is not None
    first = at(2026, 11, 27, 10, 0, 1)
    assert {each.t for each in found.samples} == {first, first + 1}
    assert {each.metric.rpartition(".")[0] for each in found.samples} == {"cpu", "disk.sda", "disk.sdb"}
    live = "23:59:5{0}  CPU  %user\n{1}  all  5\n\n23:59:5{0}  DEV  tps\n{1}  sda  9\n\n"
    found = host_metrics.read(f"{head}\n\n{live.format(8, '23:59:59')}{live.format(9, '00:00:00')}")
    assert found is not None
    midnight = at(2026, 11, 28)
    assert [each.t for each in found.samples] == [midnight - 1, midnight - 1, midnight, midnight]


def test_a_german_clock_of_iostat_is_read_and_a_date_that_is_none_is_refused() -> None:
    """5 June: the day comes first where points stand between."""
    found = host_metrics.read(IOSTAT.replace("06/07/2018 06:09:17 PM", "05.06.2018 18:09:17"))
    assert found is not None
    assert found.samples[0].t == at(2018, 6, 5, 18, 9, 17)
    with pytest.raises(OutputNotParseable, match="a time that cannot be read"):
        host_metrics.read(IOSTAT.replace("06/07/2018 06:09:17 PM", "46.77.2018 18:09:17"))


def test_iostat_without_its_processors_is_not_sar() -> None:
    """`iostat -xd`, with and without -t: as beside github.com/Percona-Lab-results/2026-mariadb-threadpool."""
    disks = re.sub(r"avg-cpu:.*\n.*\n\n", "", IOSTAT)
    found = host_metrics.read(disks)
    assert found is not None
    assert (found.tool, {each.metric for each in found.samples if each.value == 300}) == ("iostat", {"disk.sda.w/s"})
    with pytest.raises(OutputNotParseable, match=r"^iostat without the times of its samples .*-x -t"):
        host_metrics.read(disks.replace("06/07/2018 06:09:1", "x"))


def test_samples_without_times_are_refused_by_name_and_other_text_is_none_of_it() -> None:
    with pytest.raises(OutputNotParseable, match=r"iostat without the times of its samples .*-x -t"):
        host_metrics.read(IOSTAT.replace("06/07/2018 06:09:1", "x"))
    assert host_metrics.read("sysbench 1.0.20\n") is None


def test_they_are_seconds_of_the_runs_that_they_fit_and_else_a_sentence(home: Home, tmp_path: Path) -> None:
    """Both runs last 10 s: one ended at 10:00:05, the other an hour before."""
    results = write(tmp_path / "results", {4: (100,), 8: (200,)})
    end = at(2026, 11, 27, 10, 0, 5)
    for threads, ended in ((4, end), (8, end - 3600)):
        os.utime(results / "insert" / f"{threads}-1.txt", (ended, ended))
    (results / "vmstat.txt").write_text(VMSTAT)
    (results / "iostat.txt").write_text(IOSTAT)
    console = Console(width=400, file=io.StringIO(), record=True)
    assert logs.run([str(results)], LEVELS, "mysql:8", "mine", console) == 2
    assert "iostat of 2018-06-07 18:09:17 to 2018-06-07 18:09:17, which is the time of no run" in console.export_text()
    campaign = benchbook.open_campaign("mine").campaign
    by_threads = {record.levels["threads"]: campaign.series(record.id) for record in campaign.records()}
    mine = by_threads[4][by_threads[4].source == "vmstat"]
    assert mine[mine.metric == "vmstat.us"][["value", "unit", "t"]].to_numpy().tolist() == [[60.0, "%", end - 4]]
    assert "vmstat" not in set(by_threads[8].source)
