"""`python -m benchbook.transfer`: spawned workers import this file too, so the command is imported behind the guard."""

if __name__ == "__main__":
    from benchbook.transfer.command_line import main
    from benchbook.transfer.leaving import leave_with

    leave_with(main)
