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
from support.importing.crafted import DEEP, HUGE, LIMITS, NOTES, Trap, header, npy, refused
from support.processes.accidents import refusal
from support.processes.commands import TINY_RUN, command
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


HOSTILE_SETTINGS = [
    ("model", {"num_layers": 10**9}),
    ("model", {"num_layers": 1000}),
    ("model", {"vocab_size": HUGE}),
    ("model", {"vocab_size": 10**30}),
    ("model", {"vocab_size": 300}),
    ("model", {"d_model": 10**9}),
    ("model", {"d_ff": HUGE}),
    ("model", {"d_k": HUGE}),
    ("model", {"num_heads": 10**9, "d_k": 1, "d_v": 1}),
    ("model", {"positions": "learned", "max_length": HUGE}),
    ("model", {"source_vocab_size": HUGE}),
    ("model", {"dropout": float("nan")}),
    ("model", {"norm_epsilon": float("inf")}),
    ("model", {"position_offset": 10**30}),
    ("model", {"activation": "os.system"}),
    ("model", {"class_name": "Lambda"}),
    ("search", {"beam": 10**9, "n_best": 1}),
    ("search", {"extra_length": HUGE}),
    ("search", {"no_repeat_ngram": HUGE}),
    ("search", {"banned": [HUGE]}),
    ("search", {"first": [10**30]}),
    ("search", {"banned": 7}),
    ("search", {"alpha": float("nan")}),
    ("training", {"precision": "os.system"}),
    ("training", {"precision": 7}),
    ("data", {"batches": None}),
    ("data", {"vocabulary": {"size": "x"}}),
]


@pytest.mark.parametrize(
    ("action", "part", "changes"),
    [
        (action, part, changes)
        for action in ("translate", "export", "report")
        for part, changes in HOSTILE_SETTINGS
        if (action, part) != ("report", "search")  # the page only shows these settings
    ],
)
def test_settings_that_are_too_large_or_none(run, action, part, changes):
    change_config(run, lambda settings: settings["experiment"][part].update(changes))
    result = command(action, run, stdin="A dog.\n", limits=LIMITS)
    if result.returncode == 0:  # a model that is only described, on the page of a report
        assert action == "report" and "Traceback" not in result.stderr
    else:
        names = ("config.json", *changes)
        assert not refusal(result, *names), refusal(result, *names)


@pytest.mark.parametrize("text", [DEEP, '{"experiment": ' * 100_000, "[]", "9" * 10_000, "\0"])
@pytest.mark.parametrize("name", ["config.json", "vocabulary/tokenizer.json", "averaged.json"])
def test_json_that_is_none(run, name, text):
    (run / name).write_text(text)
    refused(Path(name).name, arguments=[run])


def checkpoint(run, **members):
    """Writes the run's checkpoint anew, from arrays or the bytes of members."""
    with zipfile.ZipFile(run / "checkpoints" / "step-00000002.npz", "w") as file:
        for name, member in members.items():
            file.writestr(f"{name}.npy", member)


@pytest.mark.parametrize("action", ["translate", "average"])
def test_checkpoints_made_to_harm(run, outside, action):
    arguments = [run, "--weights=newest"] if action == "translate" else [run, "--last=1"]
    trap = np.empty(1, object)
    trap[0] = Trap(outside / "trapped")
    pickled = header((1,), "|O") + pickle.dumps(trap)
    members = {
        "an object": {"notes": NOTES, "model/0000": pickled},
        "notes that are an object": {"notes": pickled},
        "a huge shape": {"notes": NOTES, "model/0000": header((HUGE,))},
        "negative": {"notes": NOTES, "model/0000": header((-1,))},
        "deep notes": {"notes": npy(np.frombuffer(DEEP.encode(), "uint8"))},
        "notes of a number": {"notes": npy(np.frombuffer(b"3", "uint8"))},
        "no notes": {"model/0000": npy([1.0])},
        "no arrays": {},
        "text": {"notes": NOTES, "model/0000": npy(["a"] * 400)},
        "a path": {"notes": NOTES, "../../outside/evil": npy([1.0])},
    }
    for name, arrays in members.items():
        checkpoint(run, **arrays)
        print(name)
        refused("step-00000002.npz", action=action, arguments=arguments, outside=outside)


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


def weights_with(path, dataset, make):
    """Replaces one dataset of a weights file."""
    with h5py.File(path, "a") as file:
        names = []
        file.visititems(
            lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None
        )
        name = names[dataset]
        shape, dtype = file[name].shape, file[name].dtype
        del file[name]
        make(file, name, shape, dtype)


def test_weights_made_to_harm(run, outside):
    weights = run / "averaged.weights.h5"
    original = weights.read_bytes()
    (outside / "numbers").write_bytes(np.ones(10_000, "float32").tobytes())
    with h5py.File(outside / "other.h5", "w") as file:
        file["x"] = np.ones(16, "float32")

    def external_link(file, name, shape, dtype):
        file[name] = h5py.ExternalLink(str(outside / "other.h5"), "/x")

    def external_storage(file, name, shape, dtype):
        storage = [(str(outside / "numbers"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset(name, shape, dtype, external=storage)

    def virtual(file, name, shape, dtype):
        layout = h5py.VirtualLayout(shape, dtype)
        source = h5py.VirtualSource(str(outside / "other.h5"), "x", (16,))
        layout[...] = source[: shape[0]] if len(shape) == 1 else source[0]
        file.create_virtual_dataset(name, layout)

    def bomb(file, name, shape, dtype):
        file.create_dataset(name, (HUGE,), dtype, chunks=(1024,))

    def cycle(file, name, shape, dtype):
        file[name] = h5py.SoftLink("/")

    for make in (external_link, external_storage, virtual, bomb, cycle):
        weights.write_bytes(original)
        weights_with(weights, 0, make)
        (run / "averaged.json").unlink(missing_ok=True)
        print(make.__name__)
        refused("averaged.weights.h5", arguments=[run], outside=outside)


@pytest.mark.parametrize(
    "name",
    [
        *("checkpoints", "logs", "export", "metrics.jsonl", ".lock", "config.json.unfinished"),
        *("averaged.json.unfinished", "unfinished.weights.h5", "metrics.unfinished"),
        *("training.jsonl", "training.unfinished"),
        *("checkpoints/step-00000004.unfinished", "checkpoints/best.unfinished"),
        *("export/.lock", "vocabulary/more", "averaged.weights.h5.unfinished"),
    ],
)
def test_nothing_is_written_through_links_in_a_run(run, outside, name):
    path = run / name
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(exist_ok=True)
    target = outside if name in ("checkpoints", "logs", "export") else outside / "secret"
    path.symlink_to(target)
    for action, arguments in (
        ("train", [f"--run={run}", "--config.training.steps=4", *TINY_RUN]),
        ("average", [run, "--last=1"]),
        ("export", [run]),
    ):
        if action == "export" and name == "averaged.weights.h5.unfinished":
            continue
        refused("leads outside", action=action, arguments=arguments, outside=outside)


def test_an_export_contains_no_file_that_a_link_names(run, outside):
    shutil.copy(run / "vocabulary" / "bpe.model", outside / "bpe.model")
    (run / "vocabulary" / "key").symlink_to(outside / "secret")
    flags = [run, f"--output={run.parent}/exported"]
    refused("leads outside", action="export", arguments=flags, outside=outside)
    assert not list((run.parent / "exported").rglob("key"))


def write_model(folder, function):
    module = tf.Module()
    function = tf.function(function, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, folder, signatures=function)


def test_exports_made_to_harm(tmp_path, outside):
    def writes(text):
        tf.io.write_file(str(outside / "evil"), "evil")
        return {"translations": text}

    def reads(text):
        return {"translations": tf.io.read_file(str(outside / "secret"))[None] + text}

    def calls(text):
        return {"translations": tf.py_function(lambda x: x, [text], tf.string)}

    for function in (writes, reads, calls):
        folder = tmp_path / function.__name__
        write_model(folder / "1", function)
        (folder / "1" / "config.json").write_text('{"export": {"search": {}}}')
        refused("beyond the model", arguments=[folder], outside=outside)
        flags = [folder, "--port=0"]
        refused("beyond the model", action="serve", arguments=flags, outside=outside)


@pytest.mark.parametrize("text", [DEEP, "[]", '{"../../outside/secret": "0"}', '{"a": {}}'])
@pytest.mark.parametrize("name", ["sha256.json", "t2t_keras.json"])
def test_records_of_an_export_made_to_harm(backwards_export, tmp_path, outside, name, text):
    folder = tmp_path / "export"
    shutil.copytree(backwards_export, folder)
    (folder / "1" / "assets.extra" / name).write_text(text)
    refused("1", action="serve", arguments=[folder, "--port=0"], outside=outside)


def test_a_folder_with_a_hostile_version_number_is_ignored(tmp_path):
    folder = tmp_path / "export"
    for name in ("9" * 200, "٣", "-1", "1e9"):
        (folder / name).mkdir(parents=True)
    refused("export", action="serve", arguments=[folder, "--port=0"])
