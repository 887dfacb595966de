"""Trains in a process of its own, slowly enough to be killed between two steps.

Run as `small_training_process FOLDER RESULT`. RESULT gets the final state, an .npz file.
"""

import sys
import time

import keras
import numpy as np
from support.runs.small_training import final_state

STEPS = 60


class Delay(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


if __name__ == "__main__":
    folder, result = sys.argv[1:]
    state = final_state(folder, callbacks=[Delay()], checkpoint_every=1, steps=STEPS)
    np.savez(result, **state)
