"""Calls functions in child processes, so that no measurement affects a later one."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor

import keras


def call_in_child(function, *arguments):
    """Calls a function in a child process and returns its result, or raises its exception.

    The function must be at the top level of a module. If the process dies, raises `RuntimeError`.
    """
    context = multiprocessing.get_context(start_method())
    with ProcessPoolExecutor(1, context, start_child) as child:
        return child.submit(function, *arguments).result()


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


def start_child():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports the interruption
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent():
    """Ends this process when its parent ends; otherwise it would keep the output folder locked."""
    multiprocessing.parent_process().join()
    os._exit(1)
