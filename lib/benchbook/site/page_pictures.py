"""Pictures of a page in fewer bytes: a diagram has few colours, and a PNG with a palette holds them in a third."""

from __future__ import annotations

import base64
import io

from bs4 import BeautifulSoup
from PIL import Image, UnidentifiedImageError

_PNG = "data:image/png;base64,"
# Smaller ones gain nothing.
_FROM_BYTES = 20_000
# Edges of thin lines need shades of every colour.
_COLOURS = 128


def slim(soup: BeautifulSoup) -> None:
    """Give every embedded PNG a palette, where that makes it smaller; size in pixels and description stay."""
    for picture in soup.find_all("img"):
        source = str(picture.get("src", ""))
        if source.startswith(_PNG) and len(source) > _FROM_BYTES:
            picture["src"] = min(source, _PNG + _with_palette(source.removeprefix(_PNG)), key=len)


def _with_palette(encoded: str) -> str:
    """The picture anew; what cannot be read stays as it is, for a browser may know it."""
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    except (UnidentifiedImageError, ValueError):
        return encoded
    with picture:
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    out = io.BytesIO()
    few = flat.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(out, format="PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()
