"""Calls functions in child processes, so that no measurement affects a later one."""

import multiprocessing
import os
import signal
import textwrap
import threading

import keras


def call_in_child(function, *arguments):
    """Calls a function in a child process and returns its result.

    Args:
        function: a picklable function, which must be at the top level of a module.
        *arguments: picklable arguments of the function.

    Raises:
        RuntimeError: if the function raises an exception or the process dies.
    """
    context = multiprocessing.get_context(start_method())
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=child_main, args=(sender, function, arguments))
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


def start_method():
    """Returns the start method for children: "fork", or "forkserver" to fork a clean process.

    Forking this process is faster. But if this process has listed the GPUs, as every command does,
    CUDA does not work in a fork.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.list_physical_devices("GPU"):
            multiprocessing.set_forkserver_preload(["t2t_keras.reproduction.layer_cost"])
            return "forkserver"
    return "fork"


def child_main(sender, function, arguments):
    """Sends the pair (result, None), or (None, error message)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports the interruption
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        sender.send((function(*arguments), None))
    except Exception as error:
        sender.send((None, textwrap.shorten(f"{type(error).__name__}: {error}", 300)))


def end_with_parent():
    """Ends this process when its parent ends; otherwise it would keep the output folder locked."""
    multiprocessing.parent_process().join()
    os._exit(1)
