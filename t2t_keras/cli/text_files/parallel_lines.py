"""Files with one line for each input line, such as prefixes."""

from pipelines.atomic_files import json_digest

PART = 1 << 20  # bytes that are read at a time to count lines


class LinesBeside:
    """The lines of a flag's file, taken in the order of the input lines.

    Args:
        flag: the flag that names the file. Without a value, there are no lines.
        everywhere: one line for all input lines, instead of a file. None: no such line.
    """

    def __init__(self, flag, everywhere=None):
        self.flag, self.everywhere, self.taken = flag, everywhere, 0
        self.lines = None
        if flag.value:
            from t2t_keras.runs.text_files import read_lines

            self.lines = read_lines(flag.value)

    def digest(self):
        """Returns a digest of the lines, or None if there are none.

        It is computed from the lines in memory, because a pipe cannot be read again.
        """
        return None if self.lines is None else json_digest(self.lines)

    def take(self, count):
        """Returns the lines for the next `count` input lines, or None if there are none."""
        if self.everywhere:
            return [self.everywhere] * count
        if self.lines is None:
            return None
        self.taken += count
        if len(self.lines) < self.taken:
            raise self.wrong(f"{self.taken:,} or more")
        return self.lines[self.taken - count : self.taken]

    def check(self, count):
        """Rejects a file without exactly one line for each of `count` input lines."""
        if self.lines is not None and len(self.lines) != count:
            raise self.wrong(f"{count:,}")

    def wrong(self, count):
        return ValueError(
            f"--{self.flag.name} must have a line for each input line. Received: "
            f"{len(self.lines):,} lines for {count} input lines"
        )


def line_count(source):
    """Returns the number of lines of a binary file from its position on.

    None: the file cannot be read twice, such as a pipe or a terminal.
    """
    if not source.seekable():
        return None
    start, count, last = source.tell(), 0, b""
    while part := source.read(PART):
        count, last = count + part.count(b"\n"), part
    source.seek(start)
    return count + (bool(last) and not last.endswith(b"\n"))


def check_lines(count, files):
    """Checks the number of lines before the work begins.

    Args:
        count: the `line_count` of the input.
        files: `LinesBeside`s.
    """
    if count is not None:
        for each in files:
            each.check(count)
