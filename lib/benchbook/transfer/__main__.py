"""`python -m benchbook.transfer`: spawned workers import this file too, so the command is imported behind the guard."""

if __name__ == "__main__":
    import gc

    # What is imported stays to the end: looking through it for garbage, again and in every worker, is CPU time too.
    gc.disable()
    from benchbook.transfer.command_line import main
    from benchbook.transfer.leaving import leave_with

    gc.freeze()
    gc.enable()
    leave_with(main)
