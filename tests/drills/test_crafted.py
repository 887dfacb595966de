"""Drill: runs, prepared data and exports made to harm are refused with one message.

Nothing in them is executed, nothing outside is touched, and no memory is allocated for what they
claim. Every command runs with a limit of 2 GB beyond the memory that TensorFlow takes.
"""

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf
from support.importing.crafted import DEEP, HUGE, NOTES, Trap, header, npy, refused
from support.processes.commands import SMALL_CORPUS, TINY_RUN
from support.runs.untrained import save_checkpoint, toy_tokenizer, untrained_run

pytestmark = pytest.mark.drill


@pytest.fixture
def run(tmp_path):
    """An untrained run with averaged weights and a checkpoint, for each test anew."""
    tokenizer = toy_tokenizer(tmp_path / "vocabulary")
    run = untrained_run(tmp_path / "run", tmp_path / "vocabulary", tokenizer)
    save_checkpoint(run, 2)
    return run.folder


def change_config(run, change):
    path = run / "config.json"
    settings = json.loads(path.read_text())
    del settings["checksum"]
    change(settings)
    path.write_text(json.dumps(settings))


@pytest.mark.parametrize("action", ["translate", "export"])
@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("model", {"num_layers": 10**9}),
        ("model", {"vocab_size": HUGE}),
        ("model", {"d_k": HUGE}),
        ("model", {"positions": "learned", "max_length": HUGE}),
        ("model", {"dropout": float("nan")}),
        ("model", {"activation": "os.system"}),
        ("search", {"beam": 10**9, "n_best": 1}),
        ("search", {"banned": [HUGE]}),
        ("data", {"batches": None}),
    ],
)
def test_settings_that_are_too_large_or_none(run, action, part, changes):
    settings = json.loads((run / "config.json").read_text())
    del settings["checksum"]
    settings["experiment"][part].update(changes)
    (run / "config.json").write_text(json.dumps(settings))
    refused("config.json", *changes, action=action, arguments=[run])


@pytest.mark.parametrize("text", [DEEP, "[]", "9" * 10_000])
@pytest.mark.parametrize("name", ["config.json", "vocabulary/tokenizer.json", "averaged.json"])
def test_json_that_is_none(run, name, text):
    (run / name).write_text(text)
    refused(Path(name).name, arguments=[run])


def trap_of(outside, size=1):
    """Returns the pickle of an array of objects that would write a file."""
    trap = np.empty(size, object)
    trap[0] = Trap(outside / "trapped")
    return header((size,), "|O") + pickle.dumps(trap)


def test_checkpoints_made_to_harm(run, outside):
    for members in (
        {"notes": NOTES, "model/0000": trap_of(outside)},
        {"notes": trap_of(outside)},
        {"notes": NOTES, "model/0000": header((HUGE,))},
        {"notes": NOTES, "model/0000": header((-1,))},
        {"notes": npy(np.frombuffer(DEEP.encode(), "uint8"))},
        {"model/0000": npy([1.0])},
        {"notes": NOTES, "../../outside/evil": npy([1.0])},
    ):
        path = run / "checkpoints" / "step-00000002.npz"
        with zipfile.ZipFile(path, "w") as file:
            for name, member in members.items():
                file.writestr(f"{name}.npy", member)
        refused(path.name, arguments=[run, "--weights=newest"], outside=outside)


def test_a_checkpoint_that_unpacks_to_terabytes_is_refused(run):
    path = run / "checkpoints" / "step-00000002.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("notes.npy", NOTES)
        with file.open("model/0000.npy", "w", force_zip64=True) as member:
            member.write(header((8 << 28,)))
            for _ in range(8 * 16):
                member.write(bytes(1 << 26))
    assert path.stat().st_size < 50 << 20
    refused("step-00000002.npz", arguments=[run, "--weights=newest"])


def test_weights_made_to_harm(run, outside):
    weights = run / "averaged.weights.h5"
    original = weights.read_bytes()
    (outside / "numbers").write_bytes(np.ones(10_000, "float32").tobytes())
    with h5py.File(outside / "other.h5", "w") as file:
        file["x"] = np.ones(16, "float32")

    def external_link(file, name, shape):
        file[name] = h5py.ExternalLink(str(outside / "other.h5"), "/x")

    def external_storage(file, name, shape):
        storage = [(str(outside / "numbers"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset(name, shape, "float32", external=storage)

    def bomb(file, name, shape):
        file.create_dataset(name, (HUGE,), "float32", chunks=(1024,))

    for replace in (external_link, external_storage, bomb):
        weights.write_bytes(original)
        with h5py.File(weights, "a") as file:
            name = file.visititems(lambda n, item: n if isinstance(item, h5py.Dataset) else None)
            shape = file[name].shape
            del file[name]
            replace(file, name, shape)
        (run / "averaged.json").unlink(missing_ok=True)
        refused("averaged.weights.h5", arguments=[run], outside=outside)


@pytest.mark.parametrize(
    "name", ["checkpoints", "metrics.jsonl", ".lock", "config.json.unfinished", "vocabulary/more"]
)
def test_nothing_is_written_through_links_in_a_run(run, outside, name):
    path = run / name
    shutil.rmtree(path, ignore_errors=True)
    path.symlink_to(outside if name == "checkpoints" else outside / "secret")
    for action, arguments in (
        ("train", [f"--run={run}", "--config.training.steps=4", *TINY_RUN]),
        ("export", [run]),
    ):
        refused("leads outside", action=action, arguments=arguments, outside=outside)


def test_an_export_contains_no_file_that_a_link_names(run, outside):
    shutil.copy(run / "vocabulary" / "bpe.model", outside / "bpe.model")
    (run / "vocabulary" / "key").symlink_to(outside / "secret")
    flags = [run, f"--output={run.parent}/exported"]
    refused("leads outside", action="export", arguments=flags, outside=outside)
    assert not list((run.parent / "exported").rglob("key"))


def test_exports_made_to_harm(tmp_path, outside):
    def writes(text):
        tf.io.write_file(str(outside / "evil"), "evil")
        return {"translations": text}

    def reads(text):
        return {"translations": tf.io.read_file(str(outside / "secret"))[None] + text}

    for function in (writes, reads):
        folder = tmp_path / function.__name__
        signature = [tf.TensorSpec([None], tf.string)]
        signatures = tf.function(function, input_signature=signature)
        tf.saved_model.save(tf.Module(), folder / "1", signatures=signatures)
        (folder / "1" / "config.json").write_text('{"export": {"search": {}}}')
        for action, arguments in (("translate", [folder]), ("serve", [folder, "--port=0"])):
            refused("beyond the model", action=action, arguments=arguments, outside=outside)


@pytest.mark.parametrize("text", [DEEP, '{"../../outside/secret": "0"}'])
@pytest.mark.parametrize("name", ["sha256.json", "t2t_keras.json"])
def test_records_of_an_export_made_to_harm(backwards_export, tmp_path, outside, name, text):
    folder = tmp_path / "export"
    shutil.copytree(backwards_export, folder)
    (folder / "1" / "assets.extra" / name).write_text(text)
    refused("1", action="serve", arguments=[folder, "--port=0"], outside=outside)


@pytest.fixture
def data(toy_data, tmp_path):
    shutil.copytree(toy_data[1], tmp_path / "data")
    return tmp_path / "data"


def train_on(data, names, outside):
    flags = [f"--run={data.parent}/new", f"--data={data}", "--config.training.steps=2"]
    refused(*names, action="train", arguments=[*flags, *TINY_RUN], outside=outside)


def test_data_made_to_harm(data, outside):
    shard = next(data.glob("shard-*"))
    ids, ends = np.load(shard / "ids.npy"), np.load(shard / "ends.npy")
    (shard / "digests.json").unlink()
    for file, text in (
        ("ids.npy", header((HUGE,), "<i4")),
        ("ids.npy", trap_of(outside, len(ids))),
        ("ids.npy", npy(np.full(len(ids), 2**31 - 1, "int32"))),
        ("ids.npy", npy(np.full(len(ids), -5, "int32"))),
        ("ends.npy", npy(ends + HUGE)),
        ("ends.npy", npy(ends[:, ::-1].copy())),
    ):
        before = (shard / file).read_bytes()
        (shard / file).write_bytes(text)
        train_on(data, ["shard-", "vocabulary"], outside)
        (shard / file).write_bytes(before)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("store.json", '{"../../outside": 3}'),
        ("vocabulary/tokenizer.json", '{"kind": "../bpe", "normalization": {}}'),
        ("preparation.json", DEEP),
    ],
)
def test_records_of_data_made_to_harm(data, outside, name, text):
    (data / name).write_text(text)
    train_on(data, [Path(name).name, Path(name).parts[0], "shards"], outside)


@pytest.mark.parametrize("name", [".lock", "report.json.unfinished", "cleaned"])
def test_nothing_is_written_through_links_in_data(data, toy_corpus, outside, name):
    (data / name).unlink(missing_ok=True)
    (data / name).symlink_to(outside if name == "cleaned" else outside / "secret")
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    arguments = [*files, f"--output={data}", *SMALL_CORPUS]
    refused("leads outside", action="prepare", arguments=arguments, outside=outside)
