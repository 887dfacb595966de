"""Trains in a process of its own, slowly enough to be killed between two steps.

Run as `small_training_process FOLDER RESULT`; with a third argument it is told to stop
twice after its first step.
"""

import os
import signal
import sys
import time

import keras
import numpy as np
from small_training import trainer, weights


class Slowly(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


class Twice(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)


folder, result, *impatient = sys.argv[1:]
made = trainer(folder, callbacks=[Twice() if impatient else Slowly()], checkpoint_every=1, steps=60)
made.train()
np.savez(result, *weights(made))
