"""`benchbook archive`: a recorded campaign as one zip."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from benchbook import paths
from benchbook.compare import address
from benchbook.deposit.crate import CampaignCrate
from benchbook.errors import writing

# The kit's own; data of yours may need another one.
LICENSE = "https://spdx.org/licenses/Apache-2.0"
CRATE = "crate.zip"


def run(campaign: str, out: str, license: str, console: Console) -> Path:
    """Pack the campaign at this address (see `compare.address`) and say where it is; returns its path.

    Without `out` it stands in the site, beside the campaign's page. Raises BadInput, NotWritten.
    """
    found = address.find(campaign)
    target = Path(out) if out else paths.site_dir() / found.report / found.id / CRATE
    partial = target.with_name(f"{target.stem}.partial.zip")
    crate = CampaignCrate(found, license)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            crate.write(partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    console.print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)", markup=False)
    return target
