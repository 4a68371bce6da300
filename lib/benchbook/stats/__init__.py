"""Statistics for benchmarks: stateless functions, explicit seeds, small frozen results; nothing here knows a record.

The unit of replication is a repetition. Whatever no report, claim, comparison or command comes to is not kept. Import
from the chapters, so that a page that needs an interval does not wait for all of them to load:

    estimates   intervals of a mean, Holm                  cellwise         comparison of a whole table, power
    level_changes   where a level changed over campaigns   campaign_effect  what campaigns differ by, as such
    latency     percentiles from histograms, Little's law
"""
