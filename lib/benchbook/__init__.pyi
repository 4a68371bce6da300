from benchbook.api import catalogue as catalogue
from benchbook.api import cells as cells
from benchbook.api import open_campaign as open_campaign
from benchbook.api import open_report as open_report
from benchbook.api import ratios as ratios
from benchbook.api import runs as runs
from benchbook.api import tables as tables

__version__: str
__all__ = ["catalogue", "cells", "open_campaign", "ratios", "runs", "tables"]
