"""Claims and verdicts: what a report says, put as hypotheses, and what a campaign's repetitions say about each.

hypothesis     what a hypothesis is: one class with keys, checks, comparisons, words; found by entry point
along          a figure increases, decreases, is flat, saturates, has its peak       between   named figures compared
together       two metrics rise together                            terms      figures, and what to call them
ledger         the shape of `data/published/<report>/claims.yaml`   ledger_check, printed_levels   it against the tables
evidence       values per repetition, in the tables' terms          taken_cpu  what others' use of CPU made of them
parts          one comparison and its claimed range                 own_drift  figures that drift unlike the others
spreads, figure_spreads, oddity   variances borrowed among parts, or figures, and who keeps its own
decide         parts -> verdicts (Holm over a ledger), leanings     ahead      what further repetitions may decide
room, level_steps                 whether the machine, or its scaled levels, could have shown it
words          the sentences           section, claims_terminal   where they are shown
more           which cells need more repetitions
judge          the whole way, from ledger and campaign to claims with verdicts
"""
