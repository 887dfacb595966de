"""The filter of file descriptor 2. Each test starts a process with it."""

import os
import pty
import signal
import subprocess
import sys
import textwrap

from support.processes.commands import ROOT

PROGRAM = """
import os, signal, subprocess, sys, time
sys.orig_argv[1:] = ['-m', 't2t_keras.cli.train']
from t2t_keras.cli.process.stderr_filter import StderrFilter
messages = StderrFilter()
"""
CHATTER = [
    b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n",
    b"E0000 00:00:1795598038.323310   27495 util.cc:131] oneDNN supports DT_INT64 only on "
    b"platforms with AVX-512. Falling back to the default Eigen-based implementation if present.\n",
    b"normalizer.cc(51) LOG(INFO) precompiled_charsmap is empty. use identity normalization.\n",
]
OTHERS = [
    b"E0000 00:00:17.3 27495 cuda_dnn.cc:498] Could not create cudnn handle: NOT_INITIALIZED\n",
    b"E0000 00:00:17.3 27495 util.cc:131] oneDNN supports DT_BFLOAT16 only on platforms with\n",
    b"trainer_interface.cc(598) LOG(ERROR) too few sentences\n",
]


def started(code, stderr=subprocess.PIPE, **options):
    program = [sys.executable, "-c", PROGRAM + textwrap.dedent(code)]
    return subprocess.Popen(program, cwd=ROOT, stderr=stderr, **options)


def result_of(code):
    """Returns the exit code and standard error of a program with the filter."""
    with started(code, start_new_session=True) as process:
        errors = process.communicate()[1]
    return process.returncode, errors


def test_chatter_is_dropped_wherever_a_library_writes_it_and_everything_else_is_shown():
    code, errors = result_of(
        f"""
        for line in {CHATTER!r}:
            os.write(2, b"before\\n" + line + b"10%\\r" + line + b"20%\\r")
            for piece in line.split(b" "):  # as C++ streams write
                os.write(2, piece + b" " * (not piece.endswith(b"\\n")))
            subprocess.run(["sh", "-c", 'printf "%s" "$1" >&2', "sh", line])
            os.write(2, b"\\xff after\\n")
        os.write(2, b"".join({OTHERS!r}))
        """
    )
    assert code == 0
    assert errors == b"before\n10%\r20%\r\xff after\n" * 3 + b"".join(OTHERS)


def test_the_last_words_of_a_process_that_dies_are_shown():
    code, errors = result_of("os.write(2, b'Check failed: '); os.write(2, b'x < y'); os.abort()")
    assert (code, errors) == (-signal.SIGABRT, b"Check failed: x < y")


def test_a_child_that_outlives_the_command_can_still_write():
    late = "read _; echo late >&2"
    code = f"subprocess.Popen(['sh', '-c', {late!r}], stdin=sys.stdin)"
    process = started(code, stdin=subprocess.PIPE)
    process.wait()
    assert process.communicate(b"\n")[1] == b"late\n"


def test_signals_to_the_whole_group_leave_the_filter_running():
    code, errors = result_of(
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
            os.killpg(0, number)
        os.write(2, b"checkpoint written")
        """
    )
    assert (code, errors) == (0, b"checkpoint written")


def test_a_question_is_shown_while_its_answer_is_awaited():
    process = started("os.write(2, b'Password: '); sys.stdin.read()", stdin=subprocess.PIPE)
    assert os.read(process.stderr.fileno(), 100) == b"Password: "
    process.communicate(b"")


def test_a_closed_reader_does_not_end_the_command():
    process = started(
        "sys.stdin.read(); os.write(2, b'x' * 100_000); os.write(2, b'y'); os.write(1, b'ended')",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stderr.close()
    process.stderr = None
    assert process.communicate(b"")[0] == b"ended" and process.returncode == 0


def test_a_terminal_stays_one_for_the_commands_own_messages():
    terminal, end = pty.openpty()
    process = started("print(sys.stderr.isatty(), os.isatty(2), file=sys.stderr)", stderr=end)
    process.wait()
    os.close(end)
    assert os.read(terminal, 100) == b"True False\r\n"
    os.close(terminal)
