"""The memory: all campaigns of all reports as one set of tables, read by DuckDB.

kept_table      what the memory holds of one campaign, table by table
partitions      its Parquet files, one per table and campaign: which fit the records, and which are made anew
recorded_runs   what a notebook has of it: frames, and SQL

    data/runs/.memory/<table>/report=<report>/campaign=<campaign>/part.parquet

The records stay the only truth: every file here can be removed at any time.
"""
