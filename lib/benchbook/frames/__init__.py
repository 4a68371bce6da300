"""A campaign as tidy pandas frames: typed columns, units in `attrs["units"]`; docs/frames.md describes every column."""
