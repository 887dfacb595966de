"""A file that has a line for each input line, read beside it."""

import itertools


class LinesBeside:
    """The lines of a flag's file, taken in the order of the input lines.

    Args:
        flag: the flag that names the file. Without a value, there are no lines.
        everywhere: the line for every input line, instead of a file. None: no such line.
    """

    def __init__(self, flag, everywhere=None):
        self.flag, self.everywhere, self.taken = flag, everywhere, 0
        self.lines = None
        if flag.value:
            from t2t_keras.runs.text_files import read_lines

            self.lines = iter(read_lines(flag.value))

    def take(self, count):
        """Returns the lines of the next input lines, or None if there are none."""
        if self.everywhere:
            return [self.everywhere] * count
        if self.lines is None:
            return None
        lines = list(itertools.islice(self.lines, count))
        if len(lines) < count:
            raise ValueError(
                f"--{self.flag.name} must have a line for each input line. Received: "
                f"{self.taken + len(lines):,} lines for {self.taken + count:,} or more input lines"
            )
        self.taken += count
        return lines
