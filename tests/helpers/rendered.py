"""What a view shows, read back from its HTML: tables by caption, alt texts of pictures."""

from __future__ import annotations

from bs4 import BeautifulSoup


class Rendered:
    """The outputs of one cell, or of a whole page."""

    def __init__(self, html: object) -> None:
        self.soup = BeautifulSoup(str(html), "html.parser")

    def table(self, caption: str) -> list[dict[str, str]]:
        """The rows of the one table whose caption begins with this; spaces are plain."""
        found = [t for t in self.soup.find_all("table") if t.caption and t.caption.get_text().startswith(caption)]
        assert len(found) == 1, f"{len(found)} tables begin with {caption!r}"
        heads = [text(cell) for cell in found[0].thead.find_all("th")]
        return [dict(zip(heads, map(text, row.find_all("td")), strict=True)) for row in found[0].tbody.find_all("tr")]

    def alts(self) -> list[str]:
        """The alt texts of its pictures."""
        return [str(picture["alt"]) for picture in self.soup.find_all("img")]

    def alt(self, beginning: str) -> str:
        """The alt text of the one picture that begins with this."""
        (found,) = [alt for alt in self.alts() if alt.startswith(beginning)]
        return found

    @property
    def text(self) -> str:
        return text(self.soup)


def text(node: BeautifulSoup) -> str:
    return node.get_text().strip().replace("\u00a0", " ")
