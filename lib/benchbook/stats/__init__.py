"""Statistics for benchmarks: stateless functions, explicit seeds, small frozen results; nothing here knows a record.

The unit of replication is a repetition. Import from the chapters, so that a page that needs an interval does not
wait for all of them to load:

    intervals   mean over repetitions, bootstraps          series     interval over an autocorrelated series
    steady      change points, warm-up, steady state       compare    ratio, tests, Holm, effect size, equivalence
    tables      comparison of a whole table, power         shapes     normalised curves, rank order, peak and knee
    usl         Universal Scalability Law                  latency    percentiles from histograms, Little's law
    stopping    when a series is tight enough              results    Interval, and the named warning
"""
