"""A document as it was published, read and audited as it is.

formats      a file of any format to blocks: headings, paragraphs, tables, code
tool_output  what load generators print, as tables
numerals     what is printed in a cell to figures, each with the interval that its rounding allows
units        which units are times and rates, and what one is in another
columns      what a heading says: quantity, unit, direction, role
tables       blocks to tables of cells
frames       all figures of a document as one tidy frame
relations    what the figures of a table say of each other, each kind in a module of its own:
  changes      percentages and ratios, against what they may have been made of
  sums         totals, means, sums, and rates
  ratios       products and ratios that are the same in all rows
  curves       percentiles, shares, points along a curve
  repeats      the same figures twice
named_cells  cells by the words that name them
comparisons  sentences that compare such cells, order them, set them a limit, or quote one
passages     the sentences of a document, and what an audit says of one
sentences    sentences held against tables and against themselves
setups       commands, hosts, versions and levels of a document
findings     what an audit says of one thing
audit        all of it, for people and programs
page         a document as HTML with its findings in the margin
"""
