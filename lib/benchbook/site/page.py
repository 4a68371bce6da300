"""An executed notebook as one clean piece of HTML: loads nothing from anywhere, in the order of a reader.

nbconvert turns cells into HTML (templates/benchbook), nh3 leaves what a page may hold, and the functions of `_STEPS`
set the page's own structure: framed tables, numbered figures, an appendix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import nh3
from bs4 import BeautifulSoup, Tag
from nbconvert import HTMLExporter
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode, v4
from traitlets.config import Config

from benchbook.user_input import notebook_file

TEMPLATES = Path(__file__).parent / "templates"

# What a notebook's output may hold, beside nh3's own list: structure, and nothing that loads, runs or sends.
_TAGS = nh3.ALLOWED_TAGS | {
    "section",
    "figure",
    "figcaption",
    "details",
    "summary",
    "small",
    "mark",
    "picture",
    "source",
}
_ATTRIBUTES = {
    "*": {"class", "id", "title", "role", "tabindex", "style", "hidden"},
    "a": {"href"},
    "source": {"media", "srcset"},
    "img": {"src", "alt", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
    "time": {"datetime"},
}
_STYLES = {"text-align", "width", "max-width", "min-width", "color", "font-weight", "white-space"}
_NUMBER = re.compile(r"^(?:[-+−]?[\d,.]+(e[-+]?\d+)?%?(\s?\[[^\]]*\])?|nan|–|-|inf)?$", re.IGNORECASE)

# A cell of more characters than a line of a phone is prose. A phone shows a table of so many columns row by row, each
# value with its name; one with prose in it from fewer on.
_LONG, _MANY, _FEW = 55, 5, 3


@dataclass(frozen=True)
class NotebookError:
    """The error that ended a notebook: number of the cell as run (In [n]) and the error as one paragraph."""

    cell: int | None
    text: str


@dataclass(frozen=True)
class Heading:
    """An entry of the contents: level 2 or 3, the anchor in the page, the text."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """The notebook as HTML, its headings in order, its title (first level-1 heading) and what ended it, if anything."""

    body: str
    headings: list[Heading]
    title: str | None
    failure: NotebookError | None


def load(path: Path) -> NotebookNode:
    """Read an executed notebook; a run that stopped without an error gets one where it stopped.

    Raise BadInput for a file that is no notebook.
    """
    notebook = notebook_file.read(path, fix="draw it again (`benchbook site`), or remove the file")
    if failure(notebook) is None:
        _mark_stop(notebook)
    return notebook


def failure(notebook: NotebookNode) -> NotebookError | None:
    """Return the first error among the outputs, or None for a notebook that ran to its end."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                text = " ".join(strip_ansi(f"{output.ename}: {output.evalue}").split())
                return NotebookError(cell.get("execution_count"), text)
    return None


def _mark_stop(notebook: NotebookNode) -> None:
    # A kernel that is killed leaves no error, and papermill calls such cells completed: what shows it is that the
    # cells after the last one run have no number.
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    left = [cell for cell in code if cell.execution_count is None]
    if left:
        last = next((cell for cell in reversed(code) if cell.execution_count is not None), left[0])
        text = f"the kernel ended before the notebook did; code cells that did not run: {len(left)}."
        last.outputs.append(v4.new_output("error", ename="NotebookStopped", evalue=text, traceback=[]))


def build(notebook: NotebookNode, more: str = "") -> Page:
    """Turn an executed notebook into a page body that has no script, no style sheet and loads nothing.

    `more`: sections of our own as HTML, which follow the notebook's.
    """
    soup = BeautifulSoup(f"{_clean(_export(notebook))}{more}", "html.parser")
    title = _take_title(soup)
    for step in _STEPS:
        step(soup)
    headings = _headings(soup)  # before the tree becomes text: it sets the anchors
    return Page(str(soup), headings, title, failure(notebook))


def _export(notebook: NotebookNode) -> str:
    # papermill marks a failed notebook with red banners of its own; the page has a better place for both.
    dropped = {"papermill-error-cell-tag", "remove-cell"}
    tag_remover = {"enabled": True, "remove_cell_tags": dropped, "remove_input_tags": {"remove-input"}}
    exporter = HTMLExporter(
        config=Config(TagRemovePreprocessor=tag_remover, CoalesceStreamsPreprocessor={"enabled": True}),
        extra_template_basedirs=[str(TEMPLATES)],
        template_name="benchbook",
        exclude_anchor_links=True,
        embed_images=True,
    )
    # Widgets need a script each; every widget also leaves its text, which is what a page can show.
    pictures = ["image/svg+xml", "image/png", "image/jpeg"]
    exporter.config.NbConvertBase.display_data_priority = ["text/html", "text/markdown", *pictures, "text/plain"]
    html, _ = exporter.from_notebook_node(notebook)
    return str(html)


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=set(_TAGS),
        clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg"},
        attributes={name: set(names) for name, names in _ATTRIBUTES.items()},
        attribute_filter=_without_requests,
        generic_attribute_prefixes={"aria-", "data-"},
        filter_style_properties=set(_STYLES),
        url_schemes={"http", "https", "mailto", "data"},
        link_rel=None,
    )


def _without_requests(tag: str, name: str, value: str) -> str | None:
    """Keep pictures that are in the page, and links that are none: a page asks for nothing."""
    if name == "src":
        return value if value.strip().lower().startswith("data:image/") else None
    if name == "srcset":
        # One picture: behind another comma a list goes on.
        return value if re.fullmatch(r"data:image/[\w.+;=-]+,[\w+/=-]+", value.strip(), re.IGNORECASE) else None
    return None if name == "href" and value.strip().lower().startswith("data:") else value


def _take_title(soup: BeautifulSoup) -> str | None:
    """Remove the notebook's title, which the page's header shows, and return its text."""
    first = soup.find("h1")
    if first is None:
        return None
    text = _text(first)
    first.decompose()
    return text


def _describe_lost_images(soup: BeautifulSoup) -> None:
    for image in soup.find_all("img"):
        if not image.get("src"):
            image.replace_with(f"[image not included: {image.get('alt') or 'no description'}]")


def _lower_headings(soup: BeautifulSoup) -> None:
    """Leave one level-1 heading, the page's title; a notebook with more of them gets them as sections."""
    for heading in soup.find_all("h1"):
        heading.name = "h2"


def _join_captions(soup: BeautifulSoup) -> None:
    """Move a picture's caption, which a notebook holds as an output after it, into its figure."""
    for caption in soup.select("figure.picture + .rich > .bb-caption:first-child"):
        output = caption.parent
        figure = output.find_previous_sibling("figure") if output else None
        if output is not None and figure is not None:
            caption.name, caption.attrs = "figcaption", {}
            figure.append(caption.extract())
            if not output.find(True):
                output.decompose()


def _number_figures(soup: BeautifulSoup) -> None:
    """Give every figure a number, an address, and links to its files: who cites one, and who wants it in a paper."""
    for number, figure in enumerate(soup.select("figure.bb-figure"), start=1):
        caption = figure.find("figcaption")
        if caption is None:
            caption = soup.new_tag("figcaption")
            figure.append(caption)
        name = str(figure.get("data-name") or "")
        figure["id"] = f"figure-{name or number}"
        label = soup.new_tag("a", string=f"Figure {number}.", attrs={"href": f"#{figure['id']}", "class": "label"})
        caption.insert(0, " ")
        caption.insert(0, label)
        for kind in ("svg", "png") if name else ():
            link = soup.new_tag("a", string=kind.upper(), attrs={"href": f"figures/{name}.{kind}", "class": "file"})
            link["aria-label"] = f"Figure {number} as {kind.upper()}"
            caption.extend([" ", link])


def _frame_tables(soup: BeautifulSoup) -> None:
    """Let a wide table scroll inside its own frame; its title, else its section's, stays in sight above."""
    for number, table in enumerate(soup.find_all("table"), start=1):
        _plain_table(table)
        section = table.find_previous(["h2", "h3", "h4"])
        frame = soup.new_tag("figure", attrs={"class": "table", "id": f"table-{number}"})
        _outermost(table).replace_with(frame)
        caption = soup.new_tag("figcaption")
        label = soup.new_tag("a", string=f"Table {number}.", attrs={"href": f"#table-{number}", "class": "label"})
        caption.extend([label, " "])
        own = [_text(line.extract()) for line in table.select("caption")]
        title = " ".join(filter(None, own)) or (_text(section) if section else "")
        caption.append(title)
        name = f"Table {number}. {title}".strip()
        scroll = soup.new_tag("div", attrs={"class": "scroll", "tabindex": "0", "role": "region", "aria-label": name})
        scroll.append(table)
        frame.extend([caption, scroll])


def _outermost(table: Tag) -> Tag:
    """Return the table, or the div around it that holds nothing else (pandas writes one)."""
    parent = table.parent
    alone = parent is not None and parent.name == "div" and "rich" not in parent.get_attribute_list("class")
    return parent if alone and parent and _text(parent) == _text(table) else table


def _plain_table(table: Tag) -> None:
    """Give every header cell its scope, and every cell the name of its column."""
    for row in table.find_all("tr"):
        row.attrs.pop("style", None)
        in_head = row.find_parent("thead") is not None
        for cell in row.find_all("th"):
            cell.attrs.setdefault("scope", "col" if in_head else "row")
            if in_head and not _text(cell):
                cell.name = "td"  # an empty header announces nothing
                del cell["scope"]
    for cell in table.select("td:not([class])"):
        if len(_text(cell)) > _LONG:
            cell["class"] = "text"
    heads = [[_text(cell) for cell in row.find_all(["th", "td"])] for row in table.select("thead tr")]
    body = [row.find_all(["th", "td"]) for row in table.select("tbody tr")]
    prose = bool(table.select("td.text"))
    if len(heads) == 1 and len(heads[0]) >= (_FEW if prose else _MANY) and all(len(c) == len(heads[0]) for c in body):
        said = []
        for name, values in zip(heads[0], zip(*body, strict=True), strict=True) if body else ():
            # What all rows say, a phone shows once.
            alike = len({_text(value) for value in values}) == 1 < len(values) and not table.select("summary")
            said += [f"{name} {_text(values[0])}".strip()] if alike and _text(values[0]) not in ("", "–") else []
            for value in values:
                if name:
                    value["data-name"] = name
                if alike or _text(value) == "–":
                    _add_class(value, "blank")
        _add_class(table, "records")
        if said:
            table["data-same"] = f"In every row: {', '.join(said)}"


def _add_class(element: Tag, name: str) -> None:
    element["class"] = " ".join([*filter(None, element.get_attribute_list("class")), name])


def _drop_row_numbers(soup: BeautifulSoup) -> None:
    """Take the first column out of a pandas table where it only counts the rows."""
    for table in soup.select("table.dataframe"):
        counted = [_text(cell) for cell in table.select("tbody th")]
        if counted and counted == [str(row) for row in range(len(counted))] and len(table.select("thead tr")) == 1:
            for row in table.select("tr"):
                row.select("th, td")[0].extract()


def _align_numbers(soup: BeautifulSoup) -> None:
    """Set the numbers of a pandas table flush right, heads included, and leave its words on the left.

    Columns are counted from the right: on the left, a row has no cells of levels that it shares with the row above.
    """
    for cell in soup.select("table.dataframe td"):
        if _text(cell) in ("NaN", "<NA>", "NaT"):
            cell.string = "–"
    for table in soup.select("table.dataframe"):
        rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
        for column in zip_longest(*map(reversed, rows)):
            cells = [cell for cell in column if cell is not None]
            values = [cell for cell in cells if cell.find_parent("tbody")]
            if values and all(_NUMBER.match(_text(cell)) for cell in values):
                for cell in cells:
                    _add_class(cell, "number")


def _fold_beginning(soup: BeautifulSoup) -> None:
    """Fold how the notebook is run: all before the first section but the first paragraph, which names the source."""
    first = soup.select_one("section.prose")
    section = next((each for each in soup.select("section.prose") if each.find("h2")), None)
    if first is None or section is None or first is section or first.find_previous_sibling(True):
        return
    cells = [cell for cell in section.find_previous_siblings(True) if cell is not first]
    if any("failed" in cell.get_attribute_list("class") for cell in cells):
        return
    fold = soup.new_tag("details", attrs={"class": "about"})
    fold.append(soup.new_tag("summary", string="How this notebook is run"))
    said = soup.new_tag("section", attrs={"class": "cell prose"})
    said.extend([part.extract() for part in first.find_all(True, recursive=False)[1:]])
    fold.extend([said, *(cell.extract() for cell in reversed(cells))])
    section.insert_before(fold)


def _fold_appendix(soup: BeautifulSoup) -> None:
    """Move what a reader of results needs last, cells tagged `appendix`, to the end, folded; not one that failed."""
    cells = [cell for cell in soup.select("section.tag-appendix") if "failed" not in cell.get_attribute_list("class")]
    if not cells:
        return
    appendix = soup.new_tag("details", attrs={"class": "appendix", "id": "appendix"})
    summary = soup.new_tag("summary")
    summary.append(soup.new_tag("h2", string="Appendix: how it was run"))
    appendix.append(summary)
    for heading in [heading for cell in cells for heading in cell.select("h2")]:
        heading.name = "h3"
    appendix.extend([cell.extract() for cell in cells])
    soup.append(appendix)


def _headings(soup: BeautifulSoup) -> list[Heading]:
    """Give every section heading an anchor of its own and list them."""
    taken: dict[str, int] = {}
    found = []
    for heading in soup.select(".prose h2, .prose h3, .appendix > summary h2"):
        slug = re.sub(r"[^\w]+", "-", _text(heading).lower()).strip("-") or "section"
        taken[slug] = taken.get(slug, 0) + 1
        anchor = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
        heading["id"] = anchor
        found.append(Heading(int(heading.name[1]), anchor, _text(heading)))
    return found


def _text(element: Tag) -> str:
    return " ".join(element.get_text(" ").split())


_STEPS = (
    _describe_lost_images, _lower_headings, _join_captions, _fold_appendix, _fold_beginning, _number_figures,
    _drop_row_numbers, _frame_tables, _align_numbers,
)  # fmt: skip
