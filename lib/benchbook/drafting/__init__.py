"""A report's files drafted from a document that was read: tables, hosts, versions, design and claims.

All of it is guessed, and a `Guess` says of each thing from which line it comes and how sure that is. A person
corrects the files, and takes a line out of guesses.yaml once it is confirmed: `benchbook check` lists those left.

guesses       what was guessed, how it is written down, what nobody has confirmed
commands      how a load was run: printed commands, or what the text tells
tables        printed tables of measurements as drafted ones, and what their columns are called
design        how each table was measured
systems       the document's title and date, its systems and their versions
hosts         the hosts that it describes, and which tables do
claims        claims from sentences
draft         the whole draft, from top to bottom
"""
