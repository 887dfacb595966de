"""Calls in processes of their own, so that no measurement affects a later one."""

import multiprocessing
import os
import signal
import textwrap
import threading


def call_in_fork(function, *arguments):
    """Calls a function in a forked process and returns its result.

    The caller must not have started its backend: a fork has none of the backend's threads.

    Raises:
        RuntimeError: if the function raises an exception or its process dies.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child_main():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports the interruption
        threading.Thread(target=end_with_parent, daemon=True).start()
        receiver.close()
        try:
            sender.send((function(*arguments), None))
        except Exception as error:
            sender.send((None, textwrap.shorten(f"{type(error).__name__}: {error}", 300)))

    child = context.Process(target=child_main)
    child.start()
    sender.close()
    try:
        result, failure = receiver.recv()
        child.join()
    except EOFError:
        child.join()
        result, failure = None, f"the process ended with code {child.exitcode}"
    if failure:
        raise RuntimeError(failure)
    return result


def end_with_parent():
    """Ends this process with its parent, because it would keep the output folder locked."""
    multiprocessing.parent_process().join()
    os._exit(1)
