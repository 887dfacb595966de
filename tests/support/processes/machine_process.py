"""Runs t2t-train as a machine of a job, with an invented BLEU: `machine_process TF_CONFIG …`."""

import os
import sys

BLEU = 7.5


def of_chief(self, value):
    """Sends the invented BLEU from the chief, and prints the value that this machine receives."""
    received = send(self, BLEU if self.is_chief else value)
    print(f"BLEU {received} was received", file=sys.stderr)
    return received


if __name__ == "__main__":
    os.environ["TF_CONFIG"] = sys.argv.pop(1)
    from t2t_keras.training.hardware.machines import Machines

    send, Machines.of_chief = Machines.of_chief, of_chief
    sys.argv[0] = "train.py"
    from t2t_keras.cli.main import entry

    entry()
