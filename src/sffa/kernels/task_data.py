"""What a compiled task finds in the array of integers that it is given.

A `HEADER` of three: a counter of the chunks taken, how many there are, the number of rows. Then
`NUMBERS` of its own; then `PER_TENSOR` for every tensor, its address and its shape.
"""

HEADER = 3
NUMBERS = 5
FIRST_TENSOR = HEADER + NUMBERS
DIMENSIONS = 3
PER_TENSOR = 1 + DIMENSIONS
