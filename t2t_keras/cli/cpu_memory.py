"""Memory that TensorFlow keeps between training steps on CPUs."""

import os


def keep_cpu_memory():
    """Makes TensorFlow keep freed arrays for the next ones; call it before TensorFlow loads.

    By default, it returns large arrays to the operating system, which clears their pages in every
    step. Environment variables that the user has set are respected.
    """
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")
    # Otherwise, this allocator uses at most 64 GiB.
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", str(max(2**16, physical)))
