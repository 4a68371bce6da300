"""Many reports on many hosts: a plan's cells, each one `benchbook report`, run side by side on a Dask cluster."""
