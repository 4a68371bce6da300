from benchbook.cli import main

main()
