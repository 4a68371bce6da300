"""A figure in a notebook's output: a picture with alt text and caption."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure

from benchbook.errors import writing
from benchbook.plots.style import DPI


def show(figure: Figure, alt: str, caption: str, *, save_as: Path | None = None) -> HTML:
    """The figure as a picture with alt text and caption, for a notebook's output; `save_as` keeps it as a PNG too."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Description": alt})
    plt.close(figure)
    if save_as is not None:
        with writing(save_as):
            save_as.parent.mkdir(parents=True, exist_ok=True)
            save_as.write_bytes(buffer.getvalue())
    picture = base64.b64encode(buffer.getvalue()).decode()
    return HTML(
        f'<figure class="bb-figure"><img alt="{html.escape(alt, quote=True)}" style="max-width:100%" '
        f'src="data:image/png;base64,{picture}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )
