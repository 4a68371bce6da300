"""Sphinx: `make docs` builds these pages, and the reference from the code; no network is needed to read them."""

import sys
from pathlib import Path

import benchbook

sys.path.insert(0, str(Path(__file__).parent))

import generate

project = "Benchbook"
author = "The Benchbook authors"
release = benchbook.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "nightly"]
html_theme = "furo"
html_title = f"Benchbook {release}"
html_show_copyright = False
# Links to files of the checkout, which are no pages.
suppress_warnings = ["myst.xref_missing"]

generate.write(Path(__file__).parent / "reference")
