"""Programs with one planted fault each, and healthy ones: what the doctor must find, and what it must not.

A function takes the library and gives `step` and what `checkup` is given with it. The name of a faulty program begins
with its rule; the line that the doctor must name ends in `# <-`. Those of `learning_*` fail to learn: the third value
that they return measures how far they are. Comments make the healthy twin: `#= code` takes the place of the line above
it, and `#+ code` is added.
"""
