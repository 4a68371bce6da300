"""The highest rate that keeps a latency: a search that is told what was measured, and says what to measure next.

    slo           what must be kept, and how much may be spent to find out
    offered_load  a load at an offered rate, and what several of them decide
    search        the next rate, or the knee with its interval

Nothing here knows a host, a record or a clock: whoever drives loads asks `search.step` after each.
"""
