"""Whether a measurement counts: what interfered with it, and not with the system under test, makes it *disturbed*.

A file per kind of sign; `disturbances` asks them all. A real stall of the system is none of them: it is told of in
`rate_lines.stalls` and shown.
"""
