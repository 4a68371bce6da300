"""`python -m mongo_transfer`: spawned workers import this file too, so the command runs behind the guard."""

from mongo_transfer.command import main

if __name__ == "__main__":
    main()
