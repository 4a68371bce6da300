"""Claims and verdicts: what a report says, put as hypotheses, and what a campaign's repetitions say about each.

figures        what a claim names in the published tables           evidence    it by repetition, from a campaign
hypothesis     what a hypothesis is; trend, comparison, correlation: one module per kind of statement
ledger         `data/published/<report>/claims.yaml`, checked against the tables
contrasts      log ratios per repetition, and spreads pooled over cells
decisions      contrasts -> holds, fails or open here, over a whole ledger (Holm)
capacity       what the cores may have withheld -> what that says of the report, fixed before the outcome
judge          the whole way, from ledger and campaign to claims with verdicts
undecided      which cells need more repetitions
verdict_text   the sentences                section, claims_terminal   where they are shown
"""
