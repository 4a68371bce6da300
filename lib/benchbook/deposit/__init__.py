"""A campaign packed for a deposit: one zip that says what is in it, to people and to programs (an RO-Crate).

crate            the campaign as a Workflow Run Crate: notebook = workflow, trial = action, inputs, outputs, versions
archive_command  `benchbook archive`
"""
