"""Memory and disks: messages when they are too small, and settings of TensorFlow's memory."""

import contextlib
import os
import re

from pipelines.atomic_files import FULL_DISK

# The messages of TensorFlow, JAX and C++ libraries when no memory is left.
NO_MEMORY = re.compile(r"OOM when allocating|RESOURCE_EXHAUSTED|[Oo]ut of memory|std::bad_alloc")
SIZE = re.compile(r"tensor with shape\[[\d,]*\] and type \w+|\d[\d.]* [KMGT]iB|\d+ bytes")


@contextlib.contextmanager
def memory_advice(advice):
    """Turns an error about memory into a `ValueError` with advice on how to use less."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        is_known = isinstance(error, MemoryError) or NO_MEMORY.search(text)
        if not is_known or "No space left on device" in text:
            raise
        size = SIZE.search(text)
        size = f" (for a {size[0]})" if size else ""
        raise ValueError(f"There is not enough memory{size}. {advice}") from error


def message_of(error):
    """Returns the message about an `OSError`: the file and the reason."""
    if error.errno in FULL_DISK:
        name = error.filename or "The output"
        return f"{name} could not be written: {error.strerror}. Make room and run the command again"
    return f"{error.filename}: {error.strerror}" if error.filename else error


def keep_cpu_memory():
    """Makes TensorFlow reuse the memory of freed arrays; call it before TensorFlow loads.

    By default, TensorFlow returns large arrays to the operating system, which clears their pages in
    every step. Environment variables that the user has set are respected.
    """
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")
    # Otherwise, this allocator uses at most 64 GiB.
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", str(max(2**16, physical)))
