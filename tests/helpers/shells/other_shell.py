"""Stands in for csh and fish as a login shell where they are not installed: `other_shell.py csh|fish -c COMMAND`.

It splits the command by the rules of that shell as far as they differ from sh's, and runs it. What the shell itself
would refuse is refused; what this program does not know is refused too, never guessed. test_ssh_variants compares it
with the real ones where they are installed.
"""

import os
import re
import sys


class Refused(Exception):
    """What the shell would say instead of running the command."""


def variable(line, at, kind):
    """(value, end) of the variable at the `$` in `line[at]`."""
    if kind == "fish" and line[at + 1 : at + 2] in "{":
        raise Refused("Variables cannot be bracketed")
    found = re.compile(r"\$(?:\{(\w+)\}|(\w+))").match(line, at)
    if not found:
        raise Refused("Illegal variable name." if kind == "csh" else "not known to this program: $ before no name")
    name = found.group(1) or found.group(2)
    if name not in os.environ and kind == "csh":
        raise Refused(f"{name}: Undefined variable.")
    end = found.end()
    if kind == "csh" and found.group(2) and line[end : end + 1] == ":":
        raise Refused(f"Bad : modifier in $ '{line[end + 1 : end + 2]}'.")
    return os.environ.get(name, ""), end


def single(line, at, kind):
    word = ""
    while at < len(line) and line[at] != "'":
        if line[at] == "\n" and kind == "csh":
            raise Refused("Unmatched '''.")
        if line[at] == "\\" and line[at + 1 : at + 2] in {"fish": ("\\", "'"), "csh": ("!",)}[kind]:
            at += 1
        word, at = word + line[at], at + 1
    if at == len(line):
        raise Refused("Unmatched '''.")
    return word, at + 1


def double(line, at, kind):
    word = ""
    while at < len(line) and line[at] != '"':
        if line[at] == "\n" and kind == "csh":
            raise Refused("Unmatched '\"'.")
        if line[at] == "$":
            value, at = variable(line, at, kind)
            word += value
            continue
        if line[at] in "`\\":
            raise Refused(f"not known to this program: {line[at]} between double quotes")
        word, at = word + line[at], at + 1
    if at == len(line):
        raise Refused("Unmatched '\"'.")
    return word, at + 1


def split(line, kind):
    """The words of a command line."""
    event = re.search(r"(?<!\\)!([^\s=(]+)", line)
    if kind == "csh" and event:
        # History is looked for before anything is quoted.
        raise Refused(f"{event.group(1)}: Event not found.")
    words, word, at = [], None, 0
    while at < len(line):
        letter, at = line[at], at + 1
        if letter in " \t":
            words, word = words + ([word] if word is not None else []), None
        elif letter in "'\"":
            part, at = (single if letter == "'" else double)(line, at, kind)
            word = (word or "") + part
        elif re.match(r"[\w%+,./:=@^-]", letter):
            word = (word or "") + letter
        else:
            raise Refused(f"not known to this program: {letter!r} outside of quotes")
    return words + ([word] if word is not None else [])


def main(kind, command):
    try:
        words = split(command, kind)
    except Refused as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    words = words[1:] if words[0] == "exec" else words
    if words[0].startswith("-"):
        # csh takes an option of exec for the program, fish knows this one not.
        sys.stderr.write(f"{words[0]}: Command not found.\n")
        return 1
    os.execvp(words[0], words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3]))
