"""Text files as lists of lines."""

from pathlib import Path

from absl import logging

from pipelines.text.opened_text import opened
from pipelines.text.sources import BYTE_ORDER_MARK


def read_lines(path):
    """Returns the lines of a file, which may be compressed. Only a line feed ends a line."""
    with opened(path) as file:
        return [line_text(line, index) for index, line in enumerate(file)]


def line_text(line, index):
    """Decodes a line without its line break. Bytes that are not UTF-8 become U+FFFD.

    `index` is the index of the line in its file, which may begin with a byte order mark.
    """
    if index == 0:
        line = line.removeprefix(BYTE_ORDER_MARK)
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    if "\ufffd" in text and "\ufffd".encode() not in line:
        message = "Line %d is not UTF-8: its invalid bytes, and any in further lines, are lost"
        logging.log_first_n(logging.WARNING, message, 1, index + 1)
    return text


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def read_parallel(**files):
    """Returns the lines of files that must have the same number of lines, a list for each file.

    `files` are {flag that names the file: path}.
    """
    found = {name: read_lines(path) for name, path in files.items()}
    first, *others = found
    for name in others:
        if len(found[first]) != len(found[name]):
            raise ValueError(
                f"--{first} and --{name} must have the same number of lines. Received: "
                f"{len(found[first]):,} and {len(found[name]):,}"
            )
    return [*found.values()]


def read_set(name, source, target):
    """Returns the source lines and the reference translations in the two files of a test set.

    It must not be empty. `name` is the name of the set, or its flags, for messages.
    """
    for path in (source, target):
        if not Path(path).is_file():
            raise ValueError(f"{name}: there is no file {path}")
    lines, references = read_lines(source), read_lines(target)
    if len(lines) != len(references):
        raise ValueError(
            f"{name}: both files must have the same number of lines. Received: {len(lines):,} in "
            f"{source} and {len(references):,} in {target}"
        )
    if not any(map(str.strip, lines)):
        raise ValueError(f"{name}: {source} has no text")
    return lines, references
