"""Drill: prepared data made to harm is refused with one message, as in `test_crafted.py`."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.importing.crafted import DEEP, HUGE, Trap, header, npy, refused
from support.processes.commands import SMALL_CORPUS, TINY_RUN

pytestmark = pytest.mark.drill


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
    trap = np.empty(len(ids), object)
    trap[0] = Trap(outside / "trapped")
    (shard / "digests.json").unlink()
    hostile = {
        "a huge shape": ("ids.npy", header((HUGE,), "<i4")),
        "huge ends": ("ends.npy", header((2, HUGE), "<i8")),
        "a short file": ("ids.npy", header((0,), "<i4")),
        "objects": ("ids.npy", header((len(ids),), "|O") + pickle.dumps(trap)),
        "ids outside the vocabulary": ("ids.npy", npy(np.full(len(ids), 2**31 - 1, "int32"))),
        "negative ids": ("ids.npy", npy(np.full(len(ids), -5, "int32"))),
        "positions outside": ("ends.npy", npy(ends + HUGE)),
        "positions backwards": ("ends.npy", npy(ends[:, ::-1].copy())),
        "numbers that are no ids": ("ids.npy", npy(np.ones(len(ids), "float64"))),
    }
    for name, (file, text) in hostile.items():
        before = (shard / file).read_bytes()
        (shard / file).write_bytes(text)
        print(name)
        train_on(data, ["shard-", "vocabulary"], outside)
        (shard / file).write_bytes(before)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("store.json", '{"../../outside": 3}'),
        ("store.json", '{"shard-000000": "many"}'),
        ("store.json", DEEP),
        ("vocabulary/tokenizer.json", '{"kind": ["bpe"], "normalization": {}}'),
        ("vocabulary/tokenizer.json", '{"kind": "bpe", "normalization": {"os": "system"}}'),
        ("vocabulary/tokenizer.json", '{"kind": "../bpe", "normalization": {}}'),
        ("vocabulary/bpe.model", ""),
        ("preparation.json", DEEP),
    ],
)
def test_records_of_data_made_to_harm(data, outside, name, text):
    (data / name).write_text(text)
    train_on(data, [Path(name).name, Path(name).parts[0], "shards"], outside)


@pytest.mark.parametrize(
    "name", [".lock", "report.txt", "report.json.unfinished", "cleaned", "vocabulary/x", "store.x"]
)
def test_nothing_is_written_through_links_in_data(data, toy_corpus, outside, name):
    (data / name).unlink(missing_ok=True)
    (data / name).symlink_to(outside if name == "cleaned" else outside / "secret")
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    arguments = [*files, f"--output={data}", *SMALL_CORPUS]
    refused("leads outside", action="prepare", arguments=arguments, outside=outside)
