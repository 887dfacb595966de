import os
import signal
import subprocess
import sys
import threading

import pytest
from support.processes.commands import ROOT

from t2t_keras.training.signals import stopping_on_signals

SOURCE = ROOT / "t2t_keras" / "training" / "signals.py"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_to_stop(number):
    before, reasons = signal.getsignal(number), []
    with stopping_on_signals(reasons.append):
        os.kill(os.getpid(), number)
    assert reasons == [f"{number.name} was received"]
    assert signal.getsignal(number) is before


def test_a_second_signal_exits_at_once():
    code = f"""
import os, runpy, signal
stopping_on_signals = runpy.run_path({str(SOURCE)!r})["stopping_on_signals"]
with stopping_on_signals(print):
    os.kill(os.getpid(), signal.SIGTERM)
    print("after the first signal", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    print("after the second signal")
"""
    result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert result.returncode == 130
    assert result.stdout == "SIGTERM was received\nafter the first signal\n"


def test_outside_the_main_thread_signals_are_left_alone():
    before, handlers = signal.getsignal(signal.SIGTERM), []

    def enter():
        with stopping_on_signals(print):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [before]
