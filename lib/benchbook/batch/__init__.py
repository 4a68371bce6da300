"""Many reports on many hosts: a plan's cells, each one `benchbook report`, run side by side on a Dask cluster.

batch_plan      the file that says what is to be run
batch_cell      one run of one report
batch_cells     the cells that a plan makes: reports x inventories x profiles x parameters, less what is excluded
batch_time      how long each will take, by campaigns that were recorded
queues          which cell comes next: one at a time on each inventory
dispatch        cells to the cluster and back, until all are over or Ctrl-C
dask_cluster    the cluster: made for the batch, or one that is there
ssh_workers     a cluster on the hosts of an inventory
slurm_workers   a cluster of jobs of Slurm
cell_process    a cell on a worker: its command, its last words, its end
cell_found      what its campaign came to
leash           the program that ends a cell's command when its worker is gone
batch_view      what the terminal shows
batch_board     how each cell stands
batch_page      the page that shows it
batch_words     a cell in words
batch_results   the JSON of a batch
batch_run       a plan's cells to their ends
batch_command   all of it, from top to bottom
"""
