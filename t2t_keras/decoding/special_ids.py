"""The ids of padding, begin and end, importable without Keras."""

PADDING, BEGIN, END = 0, 1, 2
