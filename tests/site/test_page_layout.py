"""What a browser makes of a page: nothing is wider than its box without saying so, and paper loses nothing."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from browser import browser, look, measure, violations
from nbformat import v4
from PIL import Image
from playwright.sync_api import Locator

from benchbook import plots
from benchbook.analysis.results import JudgedClaim
from benchbook.claims import section
from benchbook.display import show
from benchbook.plots import output
from benchbook.plots.forest import Scale, forest
from benchbook.site import publish

pytestmark = pytest.mark.slow

# A4 less the margins of the style sheet, at 96 pixels an inch.
PAPER = 688
COLUMNS = [f"metric_with_a_long_name_{i} (1/s)" for i in range(14)]
STATEMENT = (
    "An update of an indexed column has a lower throughput than one of a column without, at every number of threads."
)

OVERFLOWING = """(() => {
  const wide = [...document.querySelectorAll("body *")].filter((each) => {
    const style = getComputedStyle(each);
    return each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && style.overflowX !== "visible";
  });
  const cue = (box) => getComputedStyle(box, "::before").content.includes("to the right");
  return {page: document.documentElement.scrollWidth, tables: wide.filter((box) => box.querySelector("table")).length,
          silent: wide.filter((box) => !cue(box)).map((box) => `${box.tagName}.${box.className}`)};
})()"""

ON_PAPER = """(() => {
  const cells = [...document.querySelectorAll("main table :is(th, td)")];
  const cut = cells.filter((cell) => {
    const box = cell.getBoundingClientRect();
    return box.right > innerWidth || box.left < 0 || box.width < 1 || cell.scrollWidth > cell.clientWidth + 1;
  });
  const folds = [...document.querySelectorAll("details:not(.code):not(.appendix)")];
  // What stays folded in its place is printed at the end, word for word.
  const open = folds.filter((each) => each.open).map((each) => each.textContent);
  const folded = folds.filter((each) => !each.open && !open.some((text) => text.includes(each.textContent))).length;
  return {cells: cells.length, cut: cut.map((cell) => cell.innerText), folded};
})()"""


def picture() -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (760, 560), "#eee").save(buffer, format="PNG")
    source = base64.b64encode(buffer.getvalue()).decode()
    return f'<figure class="bb-figure"><img alt="A figure" src="data:image/png;base64,{source}"></figure>'


def claims() -> list[dict[str, Any]]:
    """Four of each verdict; of the open ones, the last is a rank correlation."""
    verdicts = ["holds", "fails", "needs a bigger machine", "open"]
    common = {"statement": STATEMENT, "unit": "times", "effect": 2.4, "interval": [0.3, 40.0], "region": [1.2, None]}
    # What was printed lies far apart: the scale goes from 1/16 to 16.
    return [
        {
            "id": f"claim-{i}",
            "verdict": verdicts[i % 4],
            "sentence": "So it was.",
            "published": [0.05, 20.0][i % 2],
            **common,
            **({"unit": "tau", "effect": 0.2, "interval": [-0.1, 0.5], "region": [0.0, None]} if i == 15 else {}),
        }
        for i in range(16)
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout")
    table = show.table(
        [{"threads": i, **dict.fromkeys(COLUMNS, "1,234\u00a0[1,000, 1,500]")} for i in range(4)], "Wide"
    )
    outputs = [v4.new_output("display_data", data={"text/html": html}) for html in (picture(), str(table.data))]
    judged = [JudgedClaim.model_validate(claim) for claim in claims()]
    table_of_claims = section.html(judged, folder / "figures")
    outputs.append(v4.new_output("display_data", data={"text/html": table_of_claims.data}))
    return published(folder, outputs)


def published(folder: Path, outputs: list[Any]) -> Path:
    cells = [
        v4.new_markdown_cell("# A report\n\n## Results"),
        v4.new_code_cell("show()", outputs=outputs, execution_count=1),
    ]
    nbformat.write(v4.new_notebook(cells=cells), folder / "out.ipynb")
    said = {
        "report": "tidb", "title": "A report with a title that takes some room", "profile": "smoke", "inventory": "lab",
        "campaign": "c1", "started": "2025-06-12T10:00:00Z", "trials": {"planned": 2, "done": 2, "failed": 0},
        "systems": [{"name": s, "version": "7.1.3", "stand_in_for": "another"} for s in ("tidb", "mariadb", "dm")],
        "setting": {"where": "2 shared cores", "hosts": ["2 cores"] * 2, "load": ["2 s per load"] * 4,
                    "published_hosts": ["2 x 16 vCPU, 32 GiB"] * 4},
        "claims": claims(),
    }  # fmt: skip
    (folder / "given.json").write_text(json.dumps(said))
    return publish.publish("tidb", folder / "out.ipynb", folder / "given.json", folder / "site")


def test_what_is_wider_than_its_box_says_so_and_the_page_itself_never_scrolls_sideways(page: Path) -> None:
    widths = [390, 768, 1440]
    for width, found in zip(widths, measure(page, [(width, "screen") for width in widths], OVERFLOWING), strict=True):
        assert found["page"] <= width
        assert found["silent"] == []
        # A wide table scrolls in its frame on a desk; on a phone its rows are blocks, and only a figure that has no
        # drawing for a phone, as these, scrolls.
        assert (found["tables"] == 0) is (width == 390)


def test_paper_shows_every_column_and_every_claim_unfolded(page: Path) -> None:
    (found,) = measure(page, [(PAPER, "print")], ON_PAPER)
    assert found == {"cells": 5 * (1 + len(COLUMNS)) + 17 * 6, "cut": [], "folded": 0}


def test_axe_finds_nothing_on_a_report_s_page_the_index_and_the_glossary(page: Path) -> None:
    with browser() as started:
        for name, width, dark in (
            (page.name, 1440, False), (page.name, 390, True), ("index.html", 1440, True), ("glossary.html", 390, False),
        ):  # fmt: skip
            opened = look(started, page.parent / name, width, dark=dark)
            opened.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            assert violations(opened) == [], name


def test_axe_would_find_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text('<!DOCTYPE html><html><body><img src="data:image/png;base64,"></body></html>')
    with browser() as started:
        found = " ".join(violations(look(started, tmp_path / "bad.html", 800)))
    assert "image-alt" in found
    assert "html-has-lang" in found


def test_a_figure_opens_in_the_whole_window_and_grows_around_the_pointer(page: Path) -> None:
    with browser() as started:
        opened = look(started, page, 800)
        opened.get_by_role("button", name="Enlarge: A figure").first.click()
        dialog, image = opened.get_by_role("dialog"), opened.locator(".zoom img")
        first = image.bounding_box()
        dialog.get_by_role("button", name="Larger").click()
        second = image.bounding_box()
        # The middle of the view stays where it is: as much is cut off left as right.
        assert second["width"] == pytest.approx(1.5 * first["width"], rel=0.01)
        assert first["x"] - second["x"] == pytest.approx(0.25 * first["width"], abs=2)
        opened.locator(".zoom .view").hover(position={"x": 10, "y": 10})
        opened.mouse.wheel(0, -100)
        third = image.bounding_box()
        assert third["width"] == pytest.approx(2.25 * first["width"], rel=0.01)
        assert violations(opened) == []
        opened.keyboard.press("0")
        assert image.bounding_box()["width"] == pytest.approx(first["width"], abs=1)
        opened.keyboard.press("Escape")
        assert not dialog.is_visible()


def test_tables_are_sorted_filtered_by_address_and_saved(page: Path) -> None:
    with browser() as started:
        opened = look(started, page, 1440)
        shown = opened.locator(".bb-claims tbody tr:not([hidden])")
        opened.get_by_label("state").select_option("fails")
        assert shown.count() == 4
        assert opened.url.endswith("?state=fails")
        assert opened.get_by_role("status").inner_text().startswith("8 of 20 rows")
        opened.reload()
        assert shown.count() == 4
        with opened.expect_download() as saved:
            opened.get_by_role("button", name="Save table 2 as TEX").click()
        assert Path(saved.value.path()).read_text().splitlines()[2].startswith("claim & state & effect")
        assert violations(opened) == []
        opened.get_by_label("state").select_option("")
        assert (shown.count(), "?" in opened.url) == (16, False)
        wide = opened.locator("#table-1")
        for expected in (["0", "1", "2", "3"], ["3", "2", "1", "0"]):
            wide.get_by_role("button", name="threads").click()
            assert wide.locator("tbody tr > :first-child").all_inner_texts() == expected
        assert wide.get_by_role("columnheader", name="threads").get_attribute("aria-sort") == "descending"
        opened.close()
        # On a phone the heads are not shown.
        opened = look(started, page, 390)
        for wanted, expected in (("threads ▼", ["3", "2", "1", "0"]), ("threads ▲", ["0", "1", "2", "3"])):
            opened.get_by_label("Sort table 1 by").select_option(wanted)
            assert opened.locator("#table-1 tbody tr > :first-child").all_inner_texts() == expected
        # What all rows say is said once.
        assert opened.locator("#table-1 tbody td:visible").all_inner_texts() == ["0", "1", "2", "3"]
        same = opened.locator("#table-1 table").get_attribute("data-same") or ""
        assert same.startswith("In every row: metric_with_a_long_name_0 (1/s) 1,234")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two figures: published 100 and 300, measured 10 and 20 (15 to 25); a claim of 2.0 (1.5 to 2.5)."""
    frame = pd.DataFrame({
        "table": "t", "system": "tidb", "workload": "w", "metric": "tps", "unit": "1/s", "n": 3, "threads": [1, 4],
        "published": [100.0, 300.0], "measured": [10.0, 20.0], "low": [8.0, 15.0], "high": [12.0, 25.0],
    })  # fmt: skip
    rows = pd.DataFrame({"panel": "a", "row": ["rises"], "who": "holds", "value": 2.0, "low": 1.5, "high": 2.5})
    forest_plot = forest(rows, {"a": Scale("effect", (0.5, 4.0))}, {"holds": ("green", "o")})
    levels = plots.levels(frame, "tps", x="threads", panel="workload", normalised=True)
    figures = [levels, plots.described(forest_plot, "Claims.", "Effects.")]
    outputs = [v4.new_output("display_data", data, metadata=about) for data, about in map(output.bundle, figures)]
    return published(tmp_path_factory.mktemp("figures"), outputs)


def at_mark(figure: Locator, series: int, mark: int) -> dict[str, float]:
    """Where a mark stands in the picture that is shown, in pixels from the corner of that picture."""
    image = figure.locator("picture:not([hidden]) img")
    place, box = json.loads(image.get_attribute("data-values") or "")[series]["marks"][mark], image.bounding_box()
    assert box
    return {"x": place[0] * box["width"] / 1000, "y": place[1] * box["height"] / 1000}


def test_a_figure_tells_the_value_under_the_pointer_and_saves_all_of_them(drawn: Path) -> None:
    """Relative to one thread, 20 (15 to 25) beside 10 is 2 (1.5 to 2.5), and 300 beside 100 is 3."""
    with browser() as started:
        opened = look(started, drawn, 1440)
        levels, claims = opened.locator("figure.bb-figure").all()

        def told(figure: Locator, series: int, mark: int) -> str:
            figure.locator("picture:not([hidden]) img").hover(position=at_mark(figure, series, mark))
            return figure.locator(".value").inner_text()

        def saved(figure: Locator) -> list[str]:
            with opened.expect_download() as file:
                figure.get_by_role("button", name="as CSV").click()
            return Path(file.value.path()).read_text().splitlines()

        assert told(levels, 0, 1) == "w · published · threads 4 · tps, relative 3"
        # Both curves begin at 1: no mark hides another.
        first = [f"w · {name} · threads 1 · tps, relative 1" for name in ("published", "tidb")]
        assert told(levels, 1, 0).splitlines() == first
        assert told(claims, 0, 0) == "rises · holds · effect 2 [1.5, 2.5]"
        assert saved(claims) == ["panel,series,effect,y,low,high", ",holds,2,rises,1.5,2.5"]
        levels.get_by_role("button", name="Show absolute values").click()
        assert opened.url.endswith("?scale=absolute")
        assert told(levels, 1, 1) == "w · tidb · threads 4 · tps (1/s) 20 [15, 25]"
        assert saved(levels)[1:] == [
            "w,published,1,100,,",
            "w,published,4,300,,",
            "w,tidb,1,10,8,12",
            "w,tidb,4,20,15,25",
        ]
        assert violations(opened) == []
        opened.keyboard.press("Escape")
        assert not levels.locator(".value").is_visible()
        opened.reload()
        assert levels.get_by_role("button", name="Show relative values").is_visible()


def test_without_script_the_figures_are_there_and_no_button_that_does_nothing(page: Path) -> None:
    with browser() as started:
        opened = look(started, page, 800, script=False)
        assert opened.locator(".bb-figure img").first.is_visible()
        assert opened.get_by_role("button").count() == 0
