"""What a compiled task finds in the array of integers that it is given.

A counter of the chunks taken, how many there are, the number of rows; then `NUMBERS` of its own;
then, from `FIRST` on, `EACH` for every tensor: its address and its shape.
"""

NUMBERS = 5
FIRST = 3 + NUMBERS
DIMENSIONS = 3
EACH = 1 + DIMENSIONS
