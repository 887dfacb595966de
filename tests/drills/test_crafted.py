"""Drill: runs, prepared data and exports made to harm are refused with one message.

Nothing in them is executed, nothing outside is touched, and no memory is allocated for what they
claim. Every command runs with a limit of 2 GB beyond the memory that TensorFlow takes.
"""

import functools
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support.processes.accidents import contents, refusal
from support.processes.commands import SMALL_CORPUS, TINY_RUN, command
from support.runs.untrained import save_checkpoint, toy_tokenizer, untrained_run

from t2t_keras.translating.exports import write_version

pytestmark = pytest.mark.drill
HUGE = 10**12
DEEP = "[" * 100_000


@pytest.fixture
def run(tmp_path):
    tokenizer = toy_tokenizer(tmp_path / "vocabulary")
    run = untrained_run(tmp_path / "run", tmp_path / "vocabulary", tokenizer)
    save_checkpoint(run, 2)
    return run.folder


@pytest.fixture
def data(toy_data, tmp_path):
    shutil.copytree(toy_data[1], tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def check(outside):
    """A function that runs a command, which must be refused and change nothing outside."""

    def check(*names, action="translate", arguments=()):
        before = contents(outside)
        result = command(
            action,
            *arguments,
            stdin="A dog.\n",
            limits={"AS": 2 << 30},
            interrupt_after=60,  # for a server that starts nevertheless
        )
        assert not refusal(result, *names), refusal(result, *names)
        assert contents(outside) == before

    return check


class Trap:
    """An object whose unpickling creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array))
    return file.getvalue()


def header(shape, descr="<f4"):
    file = io.BytesIO()
    contents = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, contents)
    return file.getvalue()


def trap_of(outside, size=1):
    """Returns the pickle of an array of objects that would write a file."""
    trap = np.empty(size, object)
    trap[0] = Trap(outside / "trapped")
    return header((size,), "|O") + pickle.dumps(trap)


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("model", {"num_layers": 10**9}),
        ("model", {"vocab_size": HUGE}),
        ("model", {"positions": "learned", "max_length": HUGE}),
        ("model", {"dropout": float("nan")}),
        ("model", {"activation": "os.system"}),
        ("search", {"beam": 10**9, "n_best": 1}),
        ("data", {"batches": None}),
    ],
)
def test_settings_that_are_too_large_or_none(run, check, part, changes):
    settings = json.loads((run / "config.json").read_text())
    del settings["checksum"]
    settings["experiment"][part].update(changes)
    (run / "config.json").write_text(json.dumps(settings))
    for action in ("translate", "export"):
        check("config.json", *changes, action=action, arguments=[run])


@pytest.mark.parametrize("text", [DEEP, "9" * 10_000])
@pytest.mark.parametrize("name", ["config.json", "vocabulary/tokenizer.json"])
def test_json_that_is_none(run, check, name, text):
    (run / name).write_text(text)
    check(Path(name).name, arguments=[run])


def test_checkpoints_made_to_harm(run, check, outside):
    notes = npy(np.frombuffer(b'{"step": 2}', "uint8"))
    path = run / "checkpoints" / "step-00000002.npz"
    for members in (
        {"notes": notes, "model/0000": trap_of(outside)},
        {"notes": trap_of(outside)},
        {"notes": notes, "model/0000": header((HUGE,))},
        {"notes": npy(np.frombuffer(DEEP.encode(), "uint8"))},
        {"notes": notes, "../../outside/evil": npy([1.0])},
    ):
        with zipfile.ZipFile(path, "w") as file:
            for name, member in members.items():
                file.writestr(f"{name}.npy", member)
        check(path.name, arguments=[run, "--weights=newest"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:  # unpacks to gigabytes
        file.writestr("notes.npy", notes)
        with file.open("model/0000.npy", "w", force_zip64=True) as member:
            member.write(header((8 << 28,)))
            for _ in range(8 * 16):
                member.write(bytes(1 << 26))
    check(path.name, arguments=[run, "--weights=newest"])


@pytest.mark.parametrize("name", ["checkpoints", ".lock", "config.json.unfinished"])
def test_nothing_is_written_through_links_in_a_run(run, check, outside, name):
    path = run / name
    shutil.rmtree(path, ignore_errors=True)
    path.symlink_to(outside if name == "checkpoints" else outside / "secret")
    training = [f"--run={run}", "--config.training.steps=4", *TINY_RUN]
    check("leads outside", action="train", arguments=training)
    check("leads outside", action="export", arguments=[run])


def test_an_export_contains_no_file_that_a_link_names(run, check, outside):
    (run / "vocabulary" / "key").symlink_to(outside / "secret")
    flags = [run, f"--output={run.parent}/exported"]
    check("leads outside", action="export", arguments=flags)
    assert not list((run.parent / "exported").rglob("key"))


def test_exports_made_to_harm(tmp_path, check, outside):
    def writes(text):
        tf.io.write_file(str(outside / "evil"), "evil")
        return {"translations": text}

    def reads(text):
        return {"translations": tf.io.read_file(str(outside / "secret"))[None] + text}

    for function in (writes, reads):
        folder = tmp_path / function.__name__
        signature = [tf.TensorSpec([None], tf.string)]
        signatures = tf.function(function, input_signature=signature)
        save = functools.partial(tf.saved_model.save, tf.Module(), signatures=signatures)
        write_version(folder, save, {"format": "saved_model", "dtype": "float32", "search": {}})
        check("beyond the model", action="serve", arguments=[folder, "--port=0"])


def test_data_made_to_harm(data, check, outside):
    shard = next(data.glob("shard-*"))
    ids, ends = np.load(shard / "ids.npy"), np.load(shard / "ends.npy")
    (shard / "digests.json").unlink()
    flags = [f"--run={data.parent}/new", f"--data={data}", "--config.training.steps=2", *TINY_RUN]
    shard = shard.name
    for file, text in (
        (f"{shard}/ids.npy", header((HUGE,), "<i4")),
        (f"{shard}/ids.npy", trap_of(outside, len(ids))),
        (f"{shard}/ids.npy", npy(np.full(len(ids), 2**31 - 1, "int32"))),
        (f"{shard}/ids.npy", npy(np.full(len(ids), -5, "int32"))),
        (f"{shard}/ends.npy", npy(ends + HUGE)),
        (f"{shard}/ends.npy", npy(ends[:, ::-1].copy())),
        ("store.json", b'{"../../outside": 3}'),
        ("vocabulary/tokenizer.json", b'{"kind": "../bpe", "normalization": {}}'),
        ("preparation.json", DEEP.encode()),
    ):
        before = (data / file).read_bytes()
        (data / file).write_bytes(text)
        check("shard", "vocabulary", Path(file).name, action="train", arguments=flags)
        (data / file).write_bytes(before)


@pytest.mark.parametrize("name", [".lock", "report.json.unfinished", "cleaned"])
def test_nothing_is_written_through_links_in_data(data, toy_corpus, check, outside, name):
    (data / name).unlink(missing_ok=True)
    (data / name).symlink_to(outside if name == "cleaned" else outside / "secret")
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    arguments = [*files, f"--output={data}", *SMALL_CORPUS]
    check("leads outside", action="prepare", arguments=arguments)
