"""What a user gives, before anything is believed of it: files, documents in them, and the guard of a command line.

user_file     a plain file, of a size that it can have, in UTF-8
document      the YAML or JSON in it: no key twice, not too deep, no larger than it looks
guard         whatever a command does not expect is a paragraph and an exit status
whole_file    one that appears in one step
turns         who changes what is in a folder, one at a time

Kept free of imports: every worker of a transfer imports this package.
"""
