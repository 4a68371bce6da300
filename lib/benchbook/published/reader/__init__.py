"""A document as it was published, read as data: its tables, figures and sentences, each with its place.

formats      a file of any format to blocks: headings, paragraphs, tables, code
tool_output  what load generators print, as tables
numerals     what is printed in a cell to figures, each with the interval that its rounding allows
columns      what a heading says: quantity, unit, direction, role
tables       blocks to tables of cells, and all of them as one tidy frame
"""
