"""`benchbook init`: lay down a project folder, which every other command then works in."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchbook import paths
from benchbook.errors import BadInput, writing

# What a user edits is copied; the rest of what the kit brings is read where it is.
_COPIED = ("notebooks", "env/hosts", "env/profiles")
# In a checkout the kit brings nothing but the checkout itself: a folder of its own needs all of it.
_OF_A_CHECKOUT = ("data/published", "data/sample", "env/systems", "env/debian-packages.txt")

_MAKEFILE = """\
# The project's commands; `benchbook --help` lists all.
REPORT ?=
PROFILE ?= smoke

report: ## run REPORT (or ALL=1) with PROFILE, from its systems to the page in site/
\tbenchbook report $(or $(REPORT),$(ALL:%=--all)) --profile $(PROFILE)

site: ## make every page anew from data/runs, with no host in reach
\tbenchbook site

jupyter: ## open the notebooks
\tjupyter lab --notebook-dir=.

.PHONY: report site jupyter
"""
_GITIGNORE = ".lab/\ndata/runs/\nsite/\n.ipynb_checkpoints/\n"


def lay_down(folder: Path) -> list[Path]:
    """Write a project into `folder`; return what was written. Raises BadInput where there is a project, NotWritten."""
    if paths.is_project(folder):
        fix = "work in it as it is, or name another folder"
        raise BadInput("there is a project already", file=folder, key="DIR", value=str(folder), fix=fix)
    made = {folder / "Makefile": _MAKEFILE, folder / ".gitignore": _GITIGNORE}
    for path in made:
        if path.exists():
            fix = "name another folder, or move it away"
            raise BadInput("it is there already, and is not overwritten", file=path, key="DIR", fix=fix)
    brought = paths.SHARE if paths.SHARE.is_dir() else paths.CHECKOUT
    copied = _COPIED if brought == paths.SHARE else (*_COPIED, *_OF_A_CHECKOUT)
    ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    with writing(folder):
        for name in copied:
            source, target = brought / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
            elif source.is_file():
                shutil.copyfile(source, target)
        for path, text in made.items():
            path.write_text(text)
    return [folder / name for name in copied] + list(made)


def record_sample() -> str:
    """Copy the sample campaigns to data/runs, where pages are made of them; return their report. Raises NotWritten."""
    [sample] = [folder for folder in paths.find("data", "sample").iterdir() if folder.is_dir()]
    target = paths.runs_dir(sample.name)
    if not target.exists():
        with writing(target):
            shutil.copytree(sample, target)
    return sample.name
