"""Accidents of files and processes for the drills, and the outcomes that a command may have."""

import os
import random
import re
import shutil

import numpy as np
import tensorflow as tf

# Size of a drill. The default is for trying; BUILD.md has the sizes of the full drills.
SIZE = int(os.environ.get("T2T_DRILL", "10"))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def remove(path):
    path.unlink()


def become_folder(path):
    path.unlink()
    path.mkdir()


def become_unreadable(path):
    """Replaces a file by a link to itself: opening it fails, also for root."""
    path.unlink()
    path.symlink_to(path.name)


def flip(share):
    """Returns a function that flips one bit of a file, at a share of its length."""

    def flip_bit(path):
        contents = bytearray(path.read_bytes())
        position = min(int(share * len(contents)), len(contents) - 1)
        contents[position] ^= 1 << random.Random(share * len(contents)).randrange(8)
        path.write_bytes(contents)

    flip_bit.__name__ = f"flip_at_{share}"
    return flip_bit


DAMAGES = truncate, empty, remove, become_folder, become_unreadable
DAMAGES += tuple(map(flip, (0, 0.07, 0.23, 0.41, 0.61, 0.83, 0.97, 1)))


def contents(folder):
    """Returns the bytes of all files in a folder, by path."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def copied(folder, to):
    """Copies a folder over an earlier copy and returns the path of the copy."""
    shutil.rmtree(to, ignore_errors=True)
    return shutil.copytree(folder, to)


def refusal(result, *names):
    """Returns whether a command ended as it should after a user's mistake, or says why not.

    Args:
        result: a `subprocess.CompletedProcess`.
        *names: the message must contain one of these.
    """
    message = result.stderr.strip().splitlines()[-1:] or [""]
    if "Traceback" in result.stderr or "Traceback" in result.stdout:
        return f"a traceback: {message[0]}"
    if result.returncode != 2:
        return f"exit code {result.returncode}: {message[0]}"
    if not re.match(r"\w+\.py: ", message[0]):
        return f"no message: {result.stderr}"
    if not any(name in message[0] for name in names):
        return f"the message does not name {' or '.join(names)}: {message[0]}"
    return None


def arrays_of_weights(path):
    """Returns the arrays of a checkpoint or of averaged weights, as bytes."""
    with np.load(path) as file:
        return {name: file[name].tobytes() for name in file.files if name != "notes"}


def variables_of(folder):
    """Returns the stored weights of an export, sorted: their order and names may vary."""
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    names = [name for name in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in name]
    return sorted(np.asarray(reader.get_tensor(name)).tobytes() for name in names)


def check_cases(cases, problem_of):
    """Checks a choice of cases, always the same, and fails if any has a problem.

    Args:
        cases: sequences, such as (file, damage, command).
        problem_of: function of a case's parts that returns a message, or None.
    """
    chosen = random.Random(1).sample(cases, min(SIZE, len(cases))) if SIZE else cases
    problems = []
    for case in chosen:
        if problem := problem_of(*case):
            names = (getattr(part, "__name__", str(part)) for part in case)
            problems.append(f"{', '.join(names)}: {problem}")
    print(f"{len(chosen)} of {len(cases)} cases")
    assert not problems, "\n".join(problems)


def is_done(result):
    return result.returncode == 0 and "Traceback" not in result.stderr
