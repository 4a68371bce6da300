"""A report's campaigns over time: each cell's level, where it changed and held, and what had changed there.

cell_history      each cell of each campaign, from the memory's trials: mean with interval
report_history    the campaigns of one report, inventory and profile; their changes, and who changed at each
history_view      how a notebook shows it; history_command prints it and makes its page
"""

NOTEBOOK = "history"
"""The notebook that shows it: not a report, so `make report` does not run it; `benchbook history --page` does."""
