"""`benchbook archive`: a recorded campaign as one zip."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from rich.console import Console

from benchbook import paths
from benchbook.compare import address
from benchbook.deposit.crate import CampaignCrate
from benchbook.errors import BadInput, writing

# The kit's own; data of yours may need another one.
LICENSE = "https://spdx.org/licenses/Apache-2.0"
CRATE = "crate.zip"
_ADDRESS = re.compile(r"https?://[^\s/]\S*")


def run(campaign: str, out: str, license: str, console: Console) -> Path:
    """Pack the campaign at this address (see `compare.address`) and say where it is; returns its path.

    Without `out` it stands in the site, beside the campaign's page. `license` is an address on the web. Raises
    BadInput, also for a folder of `out` that is not there, and where `out` is one; NotWritten.
    """
    _check(out, license)
    found = address.find(campaign)
    target = Path(out) if out else paths.site_dir() / found.report / found.id / CRATE
    # Another process may pack the same at the same time.
    partial = target.with_name(f"{target.stem}.{os.getpid()}.partial.zip")
    crate = CampaignCrate(found, license)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            crate.write(partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    console.print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)", markup=False)
    done, planned = len(found.done()), len(found.trials)
    if done < planned:
        said = f"not finished: {found.id} has {done} of {planned} trials; `benchbook runs` lists the others"
        console.print(said, style="yellow", markup=False)
    return target


def _check(out: str, license: str) -> None:
    if not _ADDRESS.fullmatch(license):
        fix = f"give its address, such as {LICENSE}"
        raise BadInput("is no address of a licence", key="license", value=license, fix=fix)
    if out and Path(out).is_dir():
        fix = f"name the zip that is to stand there: {shlex.quote(str(Path(out) / CRATE))}"
        raise BadInput("is a folder", key="out", value=out, fix=fix)
    if out and not Path(out).parent.is_dir():
        fix = f"make the folder first: mkdir -p {shlex.quote(str(Path(out).parent))}"
        raise BadInput("the folder that the zip is to stand in is not there", key="out", value=out, fix=fix)
