"""Claims and verdicts: what a report says, put as hypotheses, and what a campaign's repetitions say about each.

ledger      the shape of `data/published/<report>/claims.yaml`     check     the ledger against the published tables
evidence    values per repetition, in the published tables' terms  parts     one comparison and its hypothesis region
along       hypotheses along a factor: increases, flat, peak ...   between   hypotheses about named cells
together    rank correlation over points                           decide    parts -> verdicts, Holm over a ledger
words       the sentences                                          figure    all claims of a ledger in one picture
judge       the whole way, from ledger and campaign to claims with verdicts
"""
