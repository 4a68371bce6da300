from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import frictionless
import nbformat
import pandas as pd
import pytest
from browser import open_page
from bs4 import BeautifulSoup
from kit import FIXTURES
from nbformat import v4
from records import record

from benchbook.analysis import results, samples
from benchbook.analysis import summary as campaign_summary
from benchbook.analysis.trials import trials_of
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput
from benchbook.hosts.host_models import HostFacts
from benchbook.published.tables import load
from benchbook.site import addresses, downloads, page, publish, summary

# One white pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII="
FIGURE = (
    f'<figure class="bb-figure"><img alt="Throughput rises with threads" src="data:image/png;base64,{PNG}">'
    "<figcaption>Throughput</figcaption></figure>"
)
WIDE = f"<table><tr>{''.join(f'<td>column_with_a_long_name_{i}</td>' for i in range(30))}</tr></table>"
PANDAS = """<div><style scoped>.dataframe {}</style><table border="1" class="dataframe">
<thead><tr style="text-align: right;"><th></th><th>workload</th><th>tps</th></tr></thead>
<tbody><tr><th>0</th><td>point_select</td><td>35309.0</td></tr></tbody></table></div>"""
HOSTILE = """<link rel="stylesheet" href="https://e.invalid/a.css"><script src="https://e.invalid/a.js"></script>
<script>bad()</script><style>@import url(https://e.invalid/b.css)</style><img alt="logo" src="https://e.invalid/a.png">
<img alt="x" srcset="//e.invalid/a.png 2x"><p style="background: url(https://e.invalid/c.png)" onclick="bad()">kept</p>
<iframe src="https://e.invalid"></iframe><a href="javascript:bad()">odd</a><video poster="https://e.invalid/f.png"></video>
<svg><image href="https://e.invalid/d.svg"/><use xlink:href="https://e.invalid/e.svg#a"/>
<path fill="url(https://e.invalid/g.svg#a)" stroke="url(#own)"/></svg>
<a href="https://docs.invalid/report" ping="https://e.invalid/p">prose link</a>"""


def html(content: str) -> Any:
    return v4.new_output("display_data", data={"text/html": content, "text/plain": "<object>"})


def code(source: str, count: int, *outputs: Any, tags: list[str] | None = None) -> Any:
    return v4.new_code_cell(source, execution_count=count, outputs=list(outputs), metadata={"tags": tags or []})


def cells() -> list[Any]:
    return [
        v4.new_markdown_cell("# A report\n\nIt restages [this](https://docs.invalid/report)."),
        code('profile = "smoke"', 1, tags=["parameters"]),
        code('profile = "lab"', 2, tags=["injected-parameters"]),
        v4.new_markdown_cell("## Published\n\n### Audit\n\n## Published\n\n| a | b |\n|--|--|\n| 1 | 2 |"),
        code("tables.published()", 3, html(PANDAS), html(WIDE)),
        code("run()", 4, v4.new_output("stream", name="stdout", text="1 of 2\r2 of 2\n")),
        code("figures.threads()", 5, html(FIGURE), v4.new_output("display_data", data={"image/png": PNG})),
    ]


def broken() -> list[Any]:
    tagged = {"tags": ["papermill-error-cell-tag"]}
    banners = [v4.new_markdown_cell('<span style="color:red">An Exception</span>', metadata=tagged) for _ in range(2)]
    trace = ["\x1b[31mTraceback\x1b[0m", "  in run()", "WorkloadFailed: sysbench said <FATAL>"]
    error = v4.new_output("error", ename="WorkloadFailed", evalue="sysbench said\n<FATAL>", traceback=trace)
    return [banners[0], *cells()[:3], banners[1], code("run()", 3, error)]


def save(folder: Path, content: list[Any]) -> Path:
    times = {"start_time": "2025-06-12T10:00:00.5+00:00", "end_time": "2025-06-12T10:01:00+00:00"}
    noted = {"parameters": {"profile": "lab"}, **times}
    path = folder / "out.ipynb"
    nbformat.write(v4.new_notebook(cells=content, metadata={"papermill": noted}), path)
    return path


def found(**changes: Any) -> dict[str, Any]:
    return {
        "report": "tidb",
        "title": "TiDB under sysbench",
        "profile": "smoke",
        "inventory": "lab",
        "campaign": "c1",
        "started": "2025-06-12T10:00:00Z",
        "finished": "2025-06-12T10:03:52Z",
        "systems": [{"name": "tidb", "version": "7.1.3", "stand_in_for": "TiDB Dedicated"}],
        "trials": {"planned": 45, "done": 43, "failed": 2},
        **changes,
    }


CLAIM = {
    "id": "scaling",
    "statement": "Throughput rises with threads.",
    "verdict": "holds",
    "effect": 2.7812,
    "interval": [2.5, 3.1],
    "n": 9,
    "sentence": "It rises in 5 of 5 workloads.",
}


def rendered(folder: Path, content: list[Any], **changes: Any) -> BeautifulSoup:
    return BeautifulSoup(put(folder, "tidb", content, **changes).read_text(), "html.parser")


def put(folder: Path, report: str, content: list[Any], **changes: Any) -> Path:
    given = folder / "given.json"
    given.write_text(json.dumps(found(report=report, **changes)))
    return publish.publish(report, save(folder, content), given, folder / "site")


def text(element: Any) -> str:
    return " ".join(element.get_text(" ").split())


def test_the_header_says_what_ran_where_and_how_it_went(tmp_path: Path) -> None:
    header = text(rendered(tmp_path, cells()).header)
    for said in ("TiDB under sysbench", "tidb 7.1.3 in place of TiDB Dedicated", "12 June 2025", "took 3 min 52 s"):
        assert said in header
    assert "43 of 45 trials, 2 failed" in header
    assert "2 failed trials" in header
    assert "Run failed" not in header


def test_code_is_folded_away_and_outputs_are_not(tmp_path: Path) -> None:
    soup = rendered(tmp_path, cells())
    blocks = soup.select("details.code")
    assert len(blocks) == 5
    assert not any(block.has_attr("open") for block in blocks)
    assert text(blocks[1].summary) == "Parameters of this run [2]"
    assert not soup.select("details figure")
    assert text(soup.select_one("pre.stdout")) == "2 of 2"


def test_contents_lead_to_headings_with_anchors_of_their_own(tmp_path: Path) -> None:
    soup = rendered(tmp_path, cells())
    links = [(text(link), link["href"]) for link in soup.select(".contents .aside a")]
    assert links == [("Published", "#published"), ("Audit", "#audit"), ("Published", "#published-2")]
    assert all(soup.select_one(f"main {href}") for _, href in links)
    assert [text(heading) for heading in soup.select("h1")] == ["TiDB under sysbench"]


def test_pictures_keep_their_description(tmp_path: Path) -> None:
    alts = [image["alt"] for image in rendered(tmp_path, cells()).select("img")]
    assert alts == ["Throughput rises with threads", "Figure without a description"]


def test_tables_scroll_in_their_frame_and_name_their_header_cells(tmp_path: Path) -> None:
    soup = rendered(tmp_path, cells())
    assert len(soup.select("figure.table > .scroll > table")) == len(soup.select("main table")) == 3
    assert all(head.get("scope") for head in soup.select("main th"))
    first = soup.select_one("figure.table")
    assert (first["id"], text(first.figcaption)) == ("table-1", "Table 1. Published")
    assert first.select_one(".scroll")["aria-label"] == "Table 1. Published"
    assert [text(cell) for cell in soup.select(".dataframe .number")] == ["tps", "35309.0"], (
        "the numbers of the rows are left out"
    )


def test_ids_occur_once(tmp_path: Path) -> None:
    soup = rendered(tmp_path, cells(), claims=[CLAIM])
    ids = Counter(element["id"] for element in soup.select("[id]"))
    assert [name for name, count in ids.items() if count > 1] == []


def test_nothing_that_loads_or_runs_is_left(tmp_path: Path) -> None:
    soup = rendered(tmp_path, [code("show()", 1, html(HOSTILE)), v4.new_markdown_cell(HOSTILE)])
    assert len(soup.select("script")) == 1  # the page's own
    assert "bad()" not in str(soup)
    assert "e.invalid" not in str(soup)
    assert "[image not included: logo]" in text(soup.main)
    assert [text(link) for link in soup.select('main a[href^="https:"]')] == ["prose link", "prose link"]
    policy = soup.select_one("meta[http-equiv=Content-Security-Policy]")["content"]
    assert policy.startswith("default-src 'none'; img-src data:;")


def test_a_failed_run_is_shown_with_its_error_as_one_paragraph(tmp_path: Path) -> None:
    soup = rendered(tmp_path, broken(), failed="WorkloadFailed: sysbench said <FATAL>")
    assert "Run failed" in text(soup.header)
    assert "The run broke off at cell [3] . WorkloadFailed: sysbench said <FATAL>" in text(soup.header)
    cell = soup.select_one(".cell.failed")
    assert text(cell.select_one("#failed-cell > p")) == "WorkloadFailed. sysbench said <FATAL>"
    assert cell.select_one("details.code").has_attr("open")
    assert "\x1b" not in str(soup)
    assert "An Exception" not in text(soup)


def judged(**changes: Any) -> dict[str, Any]:
    shown = {"system": "tidb", "unit": "times", "region": [1.2, None], "published": 3.36, "decide": "a quieter host"}
    return {**CLAIM, **shown, **changes}


def verdicts(**counts: int) -> list[dict[str, Any]]:
    return [judged(id=f"{name}{i}", verdict=name.replace("_", " ")) for name, n in counts.items() for i in range(n)]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"holds": 7, "fails": 2, "needs_a_bigger_machine": 4, "open": 3},
         "7 of 16 claims hold, 2 fail, 3 are open, 4 need a bigger machine."),
        ({"holds": 1, "fails": 1, "open": 1}, "1 of 3 claims holds, 1 fails, 1 is open."),
        ({"fails": 1, "open": 2}, "1 of 3 claims fails, 2 are open."),
        ({"open": 11}, "all 11 claims are open."),
        ({"open": 1}, "the one claim is open."),
        ({"open": 1, "needs_a_bigger_machine": 6, "not_run": 10},
         "1 of 17 claims is open, 6 need a bigger machine, 10 were not run."),
    ],
)  # fmt: skip
def test_one_sentence_says_what_came_out_of_what(counts: dict[str, int], said: str) -> None:
    systems = [
        {"name": "tidb", "version": "5.7.25-TiDB-v6.5.0-pre-e307642d9fa5", "title": "TiDB (unistore)"},
        {"name": "tools", "version": "of July 2024", "title": "mongo-tools"},
    ]
    setting = {"where": "2 shared cores", "data": "1,000-row tables"}
    given = results.parse(found(profile="lab", systems=systems, setting=setting, claims=verdicts(**counts)))
    assert summary.headline(given) == f"Restaged on 2 shared cores with TiDB 6.5 and 1,000-row tables: {said}"
    old = results.parse(found(systems=[], claims=verdicts(**counts)))
    assert summary.headline(old) == f"Restaged in a smoke run: {said}"


@pytest.mark.parametrize(
    ("hosts", "asked", "where", "data"),
    [
        # The load generator opens the engine itself.
        ({"a": ["client"]}, {"records": 100_000}, "2 cores", "100,000 records"),
        ({"a": ["client", "db"]}, {"keys": 5000, "requests": 20_000}, "2 shared cores", "5,000 keys"),
        ({"b": ["client"], "a": ["db"]}, {"warehouses": 1}, "2 cores", "1-warehouse data"),
        ({"b": ["db"], "a": ["db"]}, {"scale": 10, "logged": True}, "2 machines with 4 cores", "data of scale 10"),
        # A server that was there before.
        ({"b": ["client"]}, {"documents": 15_000}, "", "15,000 documents"),
        ({"a": ["db"]}, {"table_size": "16000 (dump, load), 4000 (sync)"}, "2 cores", "tables of up to 16,000 rows"),
        ({"a": ["db"]}, {"puts": 500}, "2 cores", ""),
    ],
)
def test_every_kind_says_on_what_it_ran_and_how_much_data_it_had(
    hosts: dict[str, list[str]], asked: dict[str, Any], where: str, data: str, tmp_path: Path
) -> None:
    plan = {"version": 1, "report": "rocksdb_readwhilewriting", "seed": 1, "asked": asked, "trials": []}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    facts = {name: HostFacts(cores=2, boot_id=name, roles=roles) for name, roles in hosts.items()}
    system = SystemDescription(name="x", hosts=[name for name in hosts if name == "a"])
    campaign = Campaign(tmp_path)
    campaign.note(Environment(hosts=facts, systems={"x": system}))
    found = campaign_summary.of_campaign(load("rocksdb_readwhilewriting"), campaign)
    assert (found.where, found.data) == (where, data)


def test_the_top_of_a_page_says_what_others_took_of_the_cpu() -> None:
    # 0.05 of the CPU by others and 0.02 of it stolen are little.
    quiet = record(proof={"stolen": 0.01, "lost": 0.05, "others": 0.04, "program": "chronyd"})
    busy = record(proof={"stolen": 0.0, "lost": 0.43, "others": 0.43, "program": "python"})
    # Between the two: what is stolen counts sooner than what other programs use.
    crowd = record(proof={"stolen": 0.03, "lost": 0.03})
    again = "run it again on a machine left alone."
    said = f"Other programs, most by python, took up to 43% of the CPU during 2 of 4 loads: {again}"
    assert campaign_summary.crowded([quiet, busy, crowd, record()]) == said
    alone = f"Other virtual machines took up to 3% of the CPU during 1 of 2 loads: {again}"
    assert campaign_summary.crowded([quiet, crowd]) == alone
    assert campaign_summary.crowded([quiet, record()]) == ""
    told = summary.trust(results.parse(found(profile="lab", systems=[], setting={"crowded": said})))
    assert told == [said, "2 of 45 trials failed."]


def test_the_top_of_a_page_says_that_levels_are_scaled() -> None:
    scaled = {
        "insert": {"threads": {"100": 1, "200": 2, "400": 4}},
        "select": {"threads": {"50": 1, "200": 5}},
        "copy": {"source_threads": {"16": 1}, "cache": {"1024": 26, "2048": 51}},
    }
    whole: dict[str, Any] = {"systems": [], "trials": {"planned": 45, "done": 45, "failed": 0}}
    first, *others = summary.trust(results.parse(found(setting={"scaled": scaled}, **whole)))
    assert others == [
        "The results at scaled levels are about this machine, not about the report. To test the report, run its own "
        "levels (-p levels=published) on a machine with enough cores.",
        "A smoke run shows that everything works; its loads are too short to judge a system by.",
    ]
    assert first == (
        "Levels are scaled to the cores here: cache 1,024 to 2,048 were run as 26 to 51, source threads 16 were run as "
        "1 and threads 50 to 400 were run as 1 to 5."
    )
    kept = found(profile="lab", setting={"scaled": {"copy": {"cache": {"64": 64}}}}, **whole)
    assert summary.trust(results.parse(kept)) == []


def test_the_headline_says_what_came_out_here_where_it_says_nothing_of_the_report() -> None:
    waiting = {"verdict": "needs a bigger machine"}
    claims = [judged(id=f"c{n}", here=here, **waiting) for n, here in enumerate(("open", "holds", "open"))]
    setting = {"where": "2 shared cores"}
    given: dict[str, Any] = {"profile": "lab", "systems": [], "setting": setting}
    every = results.parse(found(**given, claims=claims))
    said = "need a bigger machine (here: 1 holds, 2 open)"
    assert summary.headline(every) == f"Restaged on 2 shared cores: all 3 claims {said}."
    some = results.parse(found(**given, claims=[*claims, *verdicts(not_run=1)]))
    assert summary.headline(some) == f"Restaged on 2 shared cores: 3 of 4 claims {said}, 1 was not run."


def test_the_headline_of_several_systems_names_each_in_a_sentence_of_its_own() -> None:
    claims = [judged(id=f"c{n}", system=system, here="holds") for n, system in enumerate(("a", "a", "b"))]
    setting = {"where": "2 shared cores", "data": "data of scale 1"}
    given = results.parse(found(profile="lab", systems=[], setting=setting, claims=claims))
    assert summary.headline(given) == (
        "Restaged on 2 shared cores with data of scale 1. a: both claims hold; b: the one claim holds."
    )


@pytest.mark.parametrize(
    ("changes", "look", "said"),
    [
        ({"profile": "smoke"}, "warn", "smoke: shows that it runs"),
        ({"claims": verdicts(open=3)}, "warn", "Measured; no claim is settled"),
        ({"claims": verdicts(open=3, fails=1)}, "good", "Complete"),
        ({"trials": {"planned": 2, "done": 1, "failed": 0}}, "warn", "Incomplete"),
        ({"trials": {"planned": 2, "done": 1, "failed": 1}}, "warn", "1 failed trial"),
        ({"failed": "it broke"}, "bad", "Measured; notebook failed"),
        ({"failed": "it broke", "trials": {"planned": 2, "done": 1, "failed": 0}}, "bad", "Run failed"),
    ],
)
def test_green_is_only_what_was_measured_whole_and_settles_something(
    changes: dict[str, Any], look: str, said: str
) -> None:
    whole = {"profile": "lab", "trials": {"planned": 2, "done": 2, "failed": 0}}
    badge = summary.badge(results.parse(found(**{**whole, **changes})))
    assert (badge.look, badge.text) == (look, said)


def test_a_caption_that_is_an_output_of_its_own_goes_with_its_picture(tmp_path: Path) -> None:
    """As a notebook holds what `output.picture` shows; the second has the next paragraph in the same output."""
    picture = v4.new_output("display_data", data={"image/png": PNG}, metadata={"alt": "Ratios"})
    captions = [
        html(f'<p class="bb-caption">{said}</p>{more}') for said, more in (("First.", ""), ("Second.", "<p>More.</p>"))
    ]
    soup = rendered(tmp_path, [code("show()", 1, picture, captions[0], picture, captions[1])])
    top, below = soup.select("figure")
    assert (text(top), text(below)) == ("Figure 1. First.", "Figure 2. Second.")
    assert [figure["id"] for figure in (top, below)] == ["figure-1", "figure-2"]
    (kept,) = soup.select(".outputs > .rich:not(figure)")
    assert text(kept) == "More."


def test_a_page_says_what_it_is_to_other_sites(tmp_path: Path) -> None:
    head = rendered(tmp_path, cells(), claims=[judged()]).head
    said = {meta.get("name") or meta.get("property"): meta["content"] for meta in head.select("meta[content]")}
    assert said["description"] == "Restaged in a smoke run with tidb 7.1: the one claim holds."
    assert said["og:description"] == said["description"]
    assert said["og:title"] == "TiDB under sysbench · Benchbook"


def test_a_page_over_the_limit_names_its_biggest_outputs_and_leaves_the_old_page(tmp_path: Path) -> None:
    page = put(tmp_path, "tidb", cells())
    before = page.read_bytes()
    big = code("import numpy\nfigures.huge()", 9, html(f'<img alt="" src="data:image/png;base64,{"A" * 9_000_000}">'))
    with pytest.raises(publish.PageTooLarge, match=r"9\.00 MB of cell \[9\] `figures\.huge\(\)`"):
        put(tmp_path, "tidb", [*cells(), big])
    assert page.read_bytes() == before


def test_publishing_leaves_pages_results_notebook_index_and_glossary_and_nothing_else(tmp_path: Path) -> None:
    page = put(tmp_path, "tidb", cells())
    names = ["glossary.html", "index.html", "tidb", "tidb.html", "tidb.json", "tidb.svg", "tidb.xml"]
    assert sorted(path.name for path in page.parent.iterdir()) == names
    own = page.parent / "tidb" / "c1"
    assert sorted(path.name for path in own.iterdir()) == ["executed.ipynb", "index.html", "results.json"]
    assert results.read(page.with_suffix(".json")) == results.parse(found())


def test_a_run_that_failed_before_its_results_is_published_all_the_same(tmp_path: Path) -> None:
    page = publish.publish("dm", save(tmp_path, broken()), tmp_path / "absent.json", tmp_path)
    saved = json.loads(page.with_suffix(".json").read_text())
    assert saved["trials"] == {"planned": 0, "done": 0, "failed": 0, "disturbed": 0}
    assert saved["failed"] == "WorkloadFailed: sysbench said <FATAL>"
    assert (saved["title"], saved["profile"], saved["inventory"]) == ("A report", "lab", "unknown")
    assert (saved["started"], saved["finished"]) == ("2025-06-12T10:00:00Z", "2025-06-12T10:01:00Z")
    assert "WorkloadFailed: sysbench said <FATAL>" in text(
        BeautifulSoup((tmp_path / "index.html").read_text(), "html.parser")
    )


def test_a_run_whose_kernel_was_killed_is_a_failed_one(tmp_path: Path) -> None:
    # papermill leaves no error then, and no number at the cells that it did not reach.
    unreached = [v4.new_code_cell("judge()"), v4.new_code_cell("save()")]
    page = publish.publish("dm", save(tmp_path, [*cells(), *unreached]), None, tmp_path)
    said = "NotebookStopped: the kernel ended before the notebook did; code cells that did not run: 2."
    assert results.read(page.with_suffix(".json")).failed == said
    soup = BeautifulSoup(page.read_text(), "html.parser")
    assert "The run broke off at cell [5]" in text(soup.header)
    assert text(soup.select_one(".cell.failed summary")) == "Code [5]"


def test_a_run_that_ended_well_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"out\.ipynb: the notebook ran to its end but left no results"):
        publish.publish("tidb", save(tmp_path, cells()), None, tmp_path / "site")


def test_the_index_lists_reports_that_have_a_page_by_name(tmp_path: Path) -> None:
    put(tmp_path, "tidb", cells(), claims=[CLAIM])
    done = {"planned": 11, "done": 11, "failed": 0}
    site = put(tmp_path, "ddt", cells(), trials=done, profile="lab").parent
    results.write(results.parse(found(report="aaa")), site / "aaa.json")
    soup = BeautifulSoup(publish.write_index(site).read_text(), "html.parser")
    cards = soup.select(".card")
    assert [card.h3.a["href"] for card in cards] == ["ddt.html", "tidb.html"]
    assert [link["href"] for link in soup.select('a[href$=".json"]')] == ["ddt.json", "tidb.json"]
    assert "11 planned, 11 done, 0 failed" in text(cards[0])
    assert "✓ Complete" in text(cards[0])
    for said in ("12 June 2025", "smoke", "tidb 7.1.3", "45 planned, 43 done, 2 failed", "the one claim holds"):
        assert said in text(cards[1])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b'{"report": "ddt", "tit', "not JSON: Unterminated string"),
        (b"\xff\xfe", "not JSON: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "not JSON: maximum recursion depth"),
        (b"[]", "Input should be a valid dictionary"),
        (json.dumps(found(report="ddt", colour="red")).encode(), "colour: the index cannot show it: Extra inputs"),
        (None, "cannot be read: Is a directory"),
    ],
)
def test_a_broken_json_costs_its_own_report_and_names_the_file_and_the_fix(
    tmp_path: Path, broken: bytes | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "ddt", cells())
    site = put(tmp_path, "tidb", cells()).parent
    (site / "ddt.json").unlink()
    if broken is None:
        (site / "ddt.json").mkdir()
    else:
        (site / "ddt.json").write_bytes(broken)
    soup = BeautifulSoup(publish.write_index(site).read_text(), "html.parser")
    assert [card["id"] for card in soup.select(".card")] == ["tidb"]
    assert [link["href"] for link in soup.select("p.reason a")] == ["ddt.html"]
    publish.write_index(site)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"left out: {site / 'ddt.json'}: ")
    assert said in line
    assert line.endswith("Fix: `benchbook site ddt`, or remove the file")


WHOLE = {"planned": 4, "done": 4, "failed": 0}


def test_only_a_complete_campaign_displaces_a_complete_one_and_each_keeps_its_address(
    tmp_path: Path,
) -> None:
    page = put(tmp_path, "tidb", cells(), trials=WHOLE, campaign="good")
    for name, trials in (("one-trial", {"planned": 1, "done": 1, "failed": 0}),
                         ("partial", {"planned": 4, "done": 3, "failed": 0}),
                         ("failing", {"planned": 4, "done": 3, "failed": 1})):  # fmt: skip
        later = put(tmp_path, "tidb", cells(), trials=trials, campaign=name, started="2025-06-13T10:00:00Z")
        assert later == page.parent / "tidb" / name / "index.html"
        assert results.read(page.with_suffix(".json")).campaign == "good"
    assert put(tmp_path, "tidb", cells(), trials=WHOLE, campaign="new", started="2025-06-14T10:00:00Z") == page
    assert results.read(page.with_suffix(".json")).campaign == "new"
    # Made again from what was recorded, an older one stays behind the newer one.
    assert put(tmp_path, "tidb", cells(), trials=WHOLE, campaign="good") != page
    (page.parent / "compare_good_new.html").write_text("")
    soup = BeautifulSoup(publish.write_index(page.parent).read_text(), "html.parser")
    links = [link["href"] for link in soup.select("#tidb .others a")]
    runs = [f"tidb/{name}/index.html" for name in ("partial", "one-trial", "failing", "good")]
    assert links == [*runs, "compare_good_new.html"]
    assert all((page.parent / link).is_file() for link in links)


def test_a_page_sets_other_runs_beside_its_own(tmp_path: Path) -> None:
    cell = {"table": "rw", "system": "tidb", "workload": "rw", "threads": 8, "metric": "tps", "published": 90.0}
    cells_ = [{**cell, "measured": value, "n": 1, "unit": "1/s"} for value in (40.0, 50.0)]
    first = put(tmp_path, "tidb", cells(), trials=WHOLE, campaign="old", claims=[CLAIM], cells=cells_[:1])
    assert "Other runs" not in text(BeautifulSoup(first.read_text(), "html.parser").main)
    claim = {**CLAIM, "verdict": "open", "effect": 1.5}
    later = {"campaign": "new", "started": "2025-06-14T10:00:00Z", "claims": [claim], "cells": cells_[1:]}
    page_ = put(tmp_path, "tidb", cells(), trials=WHOLE, **later)
    soup = BeautifulSoup(page_.read_text(), "html.parser")
    shown = [[text(cell) for cell in row.select("td")] for row in soup.select(".other-runs tbody tr")]
    assert [row[-2:] for row in shown] == [["open, 1.50x", "holds, 2.78x"], ["50", "40"]]
    # Runs of a batch may begin in the same minute.
    again = put(tmp_path, "tidb", cells(), trials=WHOLE, **{**later, "campaign": "twin", "cells": cells_[:1]})
    put(tmp_path, "tidb", cells(), trials=WHOLE, **{**later, "campaign": "last", "started": "2025-06-15T10:00:00Z"})
    rows = BeautifulSoup(again.read_text(), "html.parser").select(".other-runs table:last-of-type tbody tr")
    assert [text(cell) for cell in rows[-1].select("td")][-4:] == ["50", "40", "50", "40"]
    edition = page_.parent / "tidb" / "new" / "index.html"
    for path in (page_, edition):
        (link,) = BeautifulSoup(path.read_text(), "html.parser").select('a[href$="tidb/old/index.html"]:not(footer a)')
        assert (path.parent / link["href"]).is_file()


def test_comparisons_and_histories_are_no_reports_and_are_reached_from_the_index(tmp_path: Path) -> None:
    site = put(tmp_path, "tidb", cells(), trials=WHOLE, campaign="good").parent
    for name in ("compare_good_new", "compare_other_one", "history_tidb", "history_ddt"):
        put(tmp_path, name, cells(), title=f"{name} in words")
    soup = BeautifulSoup((site / "index.html").read_text(), "html.parser")
    assert [card["id"] for card in soup.select(".card")] == ["tidb"]
    own = {link["href"]: text(link) for link in soup.select("#tidb .others a")}
    assert own == {"compare_good_new.html": "a comparison of two runs", "history_tidb.html": "its runs over time"}
    others = {link["href"]: text(link) for link in soup.select("section > .others a")}
    assert others == {f"{name}.html": f"{name} in words" for name in ("compare_other_one", "history_ddt")}
    (site / "tidb.json").unlink()
    assert "No report has been run yet" not in publish.write_index(site).read_text()


def test_a_smoke_run_never_takes_the_place_of_one_to_judge_by_nor_a_narrow_one_that_of_a_broad_one() -> None:
    def of(**changes: Any) -> results.Results:
        return results.parse(found(trials=WHOLE, **changes))

    later = {"campaign": "c2", "started": "2025-07-01T00:00:00Z"}
    assert not addresses.becomes_front_page(of(**later), of(profile="lab"))
    assert addresses.becomes_front_page(of(**{**later, "profile": "lab", "started": "2025-01-01T00:00:00Z"}), of())
    broad = [{"table": name, "metric": "tps", "measured": 1.0, "n": 1} for name in ("one", "two")]
    assert not addresses.becomes_front_page(of(**later, cells=broad[:1]), of(cells=broad))
    assert addresses.becomes_front_page(of(**later, cells=broad), of(cells=broad[:1]))


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[], Path]:
    """Publishes a recorded campaign of 9 trials; returns the page in front."""
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    campaign = Path(shutil.copytree(kept, tmp_path / "runs" / kept.name))
    given = found(report="dtm_mysql", campaign=kept.name, trials=WHOLE)
    (campaign / "results.json").write_text(json.dumps(given))
    executed = save(tmp_path, cells())
    return lambda: publish.publish("dtm_mysql", executed, campaign / "results.json", tmp_path / "site")


def test_a_recorded_campaign_brings_its_frames_along(recorded: Callable[[], Path]) -> None:
    page = recorded()
    (own,) = (page.parent / "dtm_mysql").iterdir()
    campaign = Campaign(page.parents[1] / "runs" / own.name)
    trials, seconds = pd.read_parquet(own / "trials.parquet"), pd.read_parquet(own / "seconds.parquet")
    assert (list(trials), len(trials)) == (list(trials_of(campaign)), 9)
    assert set(trials.campaign) == {own.name}
    whole = samples.seconds(campaign, load_only=False)
    assert (list(seconds), seconds.value.tolist()) == (list(whole), whole.value.tolist())
    assert (trials.attrs["units"]["tps"], seconds.attrs["units"]["since_s"]) == ("1/s", "s")
    for name, frame in (("trials", trials), ("seconds", seconds)):
        readable = pd.read_csv(own / f"{name}.csv")
        assert (list(readable), len(readable)) == (list(frame), len(frame))
    for each in (page, own / "index.html"):
        soup = BeautifulSoup(each.read_text(), "html.parser")
        links = [link["href"] for link in soup.select("a[download]")]
        assert len(links) == 7
        assert all((each.parent / link).is_file() for link in links)
        assert soup.select_one("footer a[href$='glossary.html']")


def test_a_notebook_that_broke_after_its_loads_says_what_was_measured(tmp_path: Path) -> None:
    """It said "0 of 0 trials were measured", on an unknown inventory."""
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    campaign = Path(shutil.copytree(kept, tmp_path / "runs" / kept.name))
    (campaign / "results.json").unlink(missing_ok=True)
    page = publish.publish("dtm_mysql", save(tmp_path, broken()), campaign / "results.json", tmp_path / "site")
    said = results.read(tmp_path / "site" / "dtm_mysql.json")
    planned = json.loads((campaign / "plan.json").read_text())
    assert (said.trials.planned, said.trials.done) == (len(planned["trials"]), 9)
    assert (said.profile, said.inventory) == (planned["asked"]["profile"], planned["asked"]["inventory"])
    header = text(BeautifulSoup(page.read_text(), "html.parser").header)
    assert f"9 of {len(planned['trials'])} trials were measured" in header
    assert "Measured; notebook failed" in header


def test_every_column_that_is_downloaded_is_described_in_a_data_package(recorded: Callable[[], Path]) -> None:
    (own,) = (recorded().parent / "dtm_mysql").iterdir()
    package = json.loads((own / "datapackage.json").read_text())
    assert [one["path"] for one in package["resources"]] == [
        "trials.parquet", "trials.csv", "seconds.parquet", "seconds.csv",
    ]  # fmt: skip
    units = {field["name"]: field["unit"] for field in package["resources"][0]["schema"]["fields"]}
    assert (units["duration_s"], units["tps"], units["concurrency"]) == ("s", "1/s", "")
    meanings = {field["name"]: field["description"] for field in package["resources"][0]["schema"]["fields"]}
    assert (meanings["tps"], meanings["concurrency"]) == (
        "metric tps of the trial's load", "level concurrency of the trial, as it was run",
    )  # fmt: skip
    assert package["resources"][0]["description"].startswith("A row per trial that counts, in run order")
    package["resources"] = [one for one in package["resources"] if one["format"] == "csv"]
    checked = frictionless.Package.from_descriptor(package, basepath=str(own)).validate()
    assert checked.valid, checked.flatten(["title", "note"])


def test_seconds_that_no_site_takes_stay_with_their_campaign(
    recorded: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = recorded()
    (own,) = (page.parent / "dtm_mysql").iterdir()
    assert "too many to be downloaded" not in page.read_text()
    monkeypatch.setattr(downloads, "MOST_CSV_ROWS", 9)
    recorded()
    assert {"trials.csv", "seconds.parquet"} <= {path.name for path in own.iterdir()}
    assert not (own / "seconds.csv").exists(), "more than 9 rows"
    monkeypatch.setattr(downloads, "MOST_SERIES_BYTES", 1000)
    recorded()
    assert {path.name for path in own.iterdir()} == {
        "index.html", "results.json", "trials.csv", "trials.parquet", "datapackage.json", "executed.ipynb",
    }  # fmt: skip
    for each in (page, own / "index.html"):
        assert "The seconds are too many to be downloaded here" in each.read_text()


@pytest.mark.parametrize(("profile", "said"), [("smoke", "smoke: shows that it runs"), ("lab", "1 of 1 claim holds")])
def test_a_report_has_a_badge_a_feed_and_words_to_cite(tmp_path: Path, profile: str, said: str) -> None:
    done = {"planned": 11, "done": 11, "failed": 0}
    page = put(tmp_path, "tidb", cells(), claims=[CLAIM], profile=profile, trials=done, title="A & B")
    put(tmp_path, "tidb", cells(), campaign="c2", started="2025-06-13T10:00:00Z", trials=done, title="A & B")
    badge = ElementTree.parse(page.with_suffix(".svg")).getroot()
    assert badge.get("aria-label") == f"Benchbook: {said}"
    atom = "{http://www.w3.org/2005/Atom}"
    feed = ElementTree.parse(page.with_suffix(".xml")).getroot()
    assert feed.findtext(f"{atom}title") == "A & B: campaigns"
    links = [entry.find(f"{atom}link") for entry in feed.findall(f"{atom}entry")]
    assert [link.get("href") for link in links if link is not None] == ["tidb/c2/index.html", "tidb/c1/index.html"]
    cited = BeautifulSoup((page.parent / "tidb/c1/index.html").read_text(), "html.parser").select_one("footer pre")
    assert r"title = {A \& B, restaged}" in text(cited)
    assert "note = {Benchbook campaign c1, 11 trials, run on 2025-06-12" in text(cited)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_chromium_opens_page_and_index_without_a_request_or_a_complaint(tmp_path: Path, width: int, dark: bool) -> None:
    page = put(tmp_path, "tidb", [*cells(), code("show()", 6, html(HOSTILE)), *broken()], claims=[CLAIM])
    for path, folded in ((page, 8), (page.parent / "index.html", 0)):
        visit = open_page(path, width, dark=dark)
        assert visit.console == []
        assert visit.foreign_requests(path) == []
        assert visit.scroll_width <= width
        assert "TiDB under sysbench" in visit.inner_text
        assert visit.code_blocks_opened >= folded  # by the page's own toggle
        assert visit.screenshot_png.startswith(b"\x89PNG")


def test_a_saved_figure_has_a_number_an_address_and_its_files(recorded: Callable[[], Path], tmp_path: Path) -> None:
    """Nobody could cite one, and results.json named files that were nowhere on the site."""
    named = {"alt": "Throughput", "name": "tps"}
    picture = v4.new_output("display_data", data={"image/png": PNG}, metadata=named)
    page_ = page.build(v4.new_notebook(cells=[code("show()", 1, picture)]))
    figure = BeautifulSoup(page_.body, "html.parser").select_one("figure")
    assert figure["id"] == "figure-tps"
    assert [(text(a), a["href"]) for a in figure.select("figcaption a")] == [
        ("Figure 1.", "#figure-tps"), ("SVG", "figures/tps.svg"), ("PNG", "figures/tps.png"),
    ]  # fmt: skip


def test_cells_for_the_appendix_stand_folded_at_the_end_and_a_failed_one_where_it_failed() -> None:
    shown = [v4.new_output("display_data", data={"text/html": f"<p>{name}</p>"}) for name in ("plan", "result")]
    error = v4.new_output("error", ename="KeyError", evalue="x", traceback=[])
    first, failed = code("plan()", 1, shown[0], tags=["appendix"]), code("run()", 3, error, tags=["appendix"])
    built = page.build(v4.new_notebook(cells=[first, code("result()", 2, shown[1]), failed]))
    soup = BeautifulSoup(built.body, "html.parser")
    appendix = soup.select_one("details.appendix")
    assert ("plan" in text(appendix), "result" in text(appendix), "KeyError" in text(appendix)) == (True, False, False)
    assert [heading.text for heading in built.headings] == ["Appendix: how it was run"]
    assert soup.select_one(".cell.failed")
    assert text(soup).index("result") < text(soup).index("plan")
