"""Pictures of a page in fewer bytes: a diagram has few colours, and a PNG with a palette holds them in a third."""

from __future__ import annotations

import base64
import io
import re
from functools import lru_cache

from bs4 import BeautifulSoup
from PIL import Image, UnidentifiedImageError

_PNG = "data:image/png;base64,"
# Smaller ones gain nothing.
_FROM_BYTES = 20_000
_EMBEDDED = re.compile(rf"{re.escape(_PNG)}([A-Za-z0-9+/=]{{{_FROM_BYTES},}})")
# Edges of thin lines need shades of every colour.
_COLOURS = 128
# Height over width from which on a picture is cut on paper: whole on a page of A4, it would be less than half as large.
_TALL = 2.2
# Pictures of a page, each at two shares of its size; a megabyte each at most.
_REMEMBERED = 64


def slim(soup: BeautifulSoup) -> None:
    """Give every embedded PNG a palette, where that makes it smaller; size in pixels and description stay."""
    for picture in soup.find_all("img"):
        source = str(picture.get("src", ""))
        if source.startswith(_PNG) and len(source) > _FROM_BYTES:
            picture["src"] = min(source, _PNG + _with_palette(source.removeprefix(_PNG)), key=len)


def mark_tall(soup: BeautifulSoup) -> None:
    """A figure that takes more than a printed page gets the class `tall`, and its caption first: it is cut on paper."""
    for picture in soup.select("figure > img"):
        source, figure = str(picture.get("src", "")), picture.parent
        if figure and source.startswith(_PNG) and _share(source.removeprefix(_PNG)) > _TALL:
            figure["class"] = " ".join([*figure.get_attribute_list("class"), "tall"])
            for caption in figure.find_all("figcaption"):
                figure.insert(0, caption.extract())


def _share(encoded: str) -> float:
    """Height over width; 0 of what cannot be read."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(encoded))) as picture:
            return picture.height / picture.width
    except (UnidentifiedImageError, ValueError):
        return 0.0


def smaller(html: str, share: float) -> str:
    """The same with every large embedded PNG at this share of its width and height."""
    return _EMBEDDED.sub(lambda found: _PNG + _with_palette(found[1], share), html)


@lru_cache(maxsize=_REMEMBERED)
def _with_palette(encoded: str, share: float = 1.0) -> str:
    """The picture anew; what cannot be read stays as it is, for a browser may know it.

    Remembered: the page in front has the pictures of the page at the campaign's own address.
    """
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    except (UnidentifiedImageError, ValueError):
        return encoded
    with picture:
        whole = picture.convert("RGBA") if picture.mode == "P" else picture
        flat = Image.new("RGB", whole.size, "white")
        flat.paste(whole, mask=whole.getchannel("A") if whole.mode == "RGBA" else None)
    if share < 1.0:
        flat = flat.resize((round(flat.width * share), round(flat.height * share)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    few = flat.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(out, format="PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()
