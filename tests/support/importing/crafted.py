"""Harmful contents of files, and a command that must refuse them."""

import io
from pathlib import Path

import numpy as np
from support.processes.accidents import contents, refusal
from support.processes.commands import command

LIMITS = {"AS": 2 << 30}
HUGE = 10**12
DEEP = "[" * 100_000


class Trap:
    """An object whose unpickling creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def refused(*names, action="translate", arguments=(), outside=None):
    """Runs a command, which must be refused; `outside` must be as before."""
    before = outside and contents(outside)
    timeout = {"interrupt_after": 60}  # for a server that starts nevertheless
    result = command(action, *arguments, stdin="A dog.\n", limits=LIMITS, **timeout)
    assert not refusal(result, *names), refusal(result, *names)
    assert outside is None or contents(outside) == before
    return result


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array))
    return file.getvalue()


def header(shape, descr="<f4"):
    file = io.BytesIO()
    contents = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, contents)
    return file.getvalue()


NOTES = npy(np.frombuffer(b'{"step": 2}', "uint8"))
