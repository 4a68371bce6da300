"""A figure in a notebook's output: a picture with alt text and caption."""

from __future__ import annotations

import base64
import html
from pathlib import Path

from matplotlib.figure import Figure

from benchbook.display.outputs import Picture
from benchbook.given.whole_file import replace_bytes
from benchbook.plots import mime


def show(figure: Figure, alt: str, caption: str, *, save_as: Path | None = None) -> Picture:
    """The figure as a picture with alt text and caption, for a notebook's output; `save_as` keeps it as a PNG too.

    Raises NotWritten.
    """
    mime.described(figure, alt, caption)
    bundle, _ = mime.bundle(figure)
    if save_as is not None:
        replace_bytes(save_as, bundle["image/png"])
    # What goes into a notebook's file is text.
    encoded = base64.b64encode(bundle["image/png"]).decode()
    return Picture(
        f'<figure class="bb-figure"><img alt="{html.escape(alt, quote=True)}" style="max-width:100%" '
        f'src="data:image/png;base64,{encoded}"><figcaption>{html.escape(caption)}</figcaption></figure>',
        {**bundle, "image/png": encoded},
        alt,
        caption,
    )
