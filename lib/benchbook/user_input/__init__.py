"""What a user gives, before anything is believed of it: files, documents in them, and the guard of a command line.

user_file     a plain file, of a size that it can have, in UTF-8
notebook_file a Jupyter notebook in one
strict_yaml   the YAML or JSON in it: no key twice, not too deep, no larger than it looks
yaml_file     a YAML file as a model: what is wrong is said with its line, key and fix
guard         whatever a command does not expect is a paragraph and an exit status
choices       a name that must be one of those there are, and which was likely meant
bounds        numbers within what can be meant
atomic_file   a file that appears in one step; a folder that one process changes at a time

This file imports nothing: every worker of a transfer imports this package.
"""
