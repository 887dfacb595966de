"""Models of a loopback Hub are downloaded and verified, or refused with what to do."""

import json
import sys

import pytest
from support.importing.loopback_hub import loopback_hub

from t2t_keras.importing.hub import RUN, fetch, find, library, needed_files, parse_address

TEXTS = {"config.json", "vocab.json", "source.spm", "target.spm", "tokenizer_config.json"}
OPUS = {"README.md", "pytorch_model.bin", "tf_model.h5", ".gitattributes", "metadata.json", *TEXTS}
OURS = {"config.json", "averaged.npz", "vocabulary/bpe.model"}
OURS |= {"export_litert/1/model.tflite", "export_litert/1/vocabulary/source/bpe.model"}


@pytest.mark.parametrize(
    ("format", "names", "unused"),
    [
        ("hugging_face", OPUS, OPUS - TEXTS - {"pytorch_model.bin"}),
        ("hugging_face", OPUS | {"model.safetensors"}, OPUS - TEXTS),
        (
            "ctranslate2",
            {"model.bin", "config.json", "shared_vocabulary.txt", "source.spm", "onnx/model.bin"},
            {"onnx/model.bin"},
        ),
        (
            "marian",
            {"model.npz", "model.npz.decoder.yml", "model.npz.optimizer.npz", "vocab.spm"},
            {"model.npz.optimizer.npz"},
        ),
        ("marian", {"best.npz", "best.optimizer.npz", "a.yml"}, {"best.optimizer.npz"}),
        (RUN, OURS | {"README.md", "logs/x"}, {"README.md", "logs/x"}),
        ("hugging_face", {"model.safetensors"}, {"model.safetensors"}),
    ],
)
def test_only_the_files_of_a_format_are_needed(format, names, unused):
    assert set(needed_files(dict.fromkeys(names, 1), format)) == names - unused


def test_addresses():
    assert parse_address("hf:org/name") == ("org/name", None)
    assert parse_address("hf:org/name@refs/pr/1") == ("org/name", "refs/pr/1")
    for wrong in ("hf:", "hf:name", "hf:a/b/c", "hf:a/..", "hf:a/b@../c", "hf:a b/c"):
        with pytest.raises(ValueError, match=r"is given as hf:ORG/NAME or .* Received: hf:"):
            parse_address(wrong)


@pytest.fixture(scope="module")
def server():
    with loopback_hub() as hub:
        yield hub


@pytest.fixture
def hub(server, tmp_path, monkeypatch):
    """A hub without failures, whose org/model is a model of CTranslate2, and an empty cache."""
    server.use(tmp_path / "home", monkeypatch)
    server.log.clear()
    server.statuses, server.corrupt = {}, set()
    write(server, tmp_path, {"model.bin": "weights", "shared_vocabulary.txt": "a"})
    return server


def write(hub, tmp_path, files):
    for name, contents in files.items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    return hub.add("org/model", tmp_path / "model")


def download(address):
    """Downloads a model and returns its `Repository`."""
    found = find(address)
    fetch(found)
    return found


def test_files_arrive_in_the_usual_cache_and_are_not_sent_twice(hub, tmp_path, monkeypatch):
    found = find("hf:org/model")
    commit = hub.commit("org/model")
    assert found.folder == tmp_path / "home/hub/models--org--model/snapshots" / commit
    assert (found.format, found.revision) == ("ctranslate2", commit)
    assert found.files == {"shared_vocabulary.txt": 1, "model.bin": 7}
    assert not (found.folder / "model.bin").exists()
    fetch(found)
    assert (found.folder / "model.bin").read_text() == "weights"
    sent = hub.sent("/model.bin")
    assert download("hf:org/model") == found and hub.sent("/model.bin") == sent
    monkeypatch.setattr(library().constants, "HF_HUB_OFFLINE", True)
    requests = len(hub.log)
    for address in ("hf:org/model", f"hf:org/model@{commit}"):
        assert download(address).folder == found.folder
    for address in ("hf:org/other", "hf:org/model@v2"):
        with pytest.raises(ValueError, match=r"failed: .* HF_HUB_OFFLINE .* if they are set"):
            download(address)
    assert len(hub.log) == requests


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlicense: mit\nlanguage: [en]\n---\n", {"license": "mit", "language": ["en"]}),
        ("---\na: [\n---\n", {}),
        ("---\n- a\n---\n", {}),
    ],
)
def test_the_metadata_of_the_model_card_are_read_if_they_are_whole(hub, tmp_path, card, expected):
    write(hub, tmp_path, {"README.md": card})
    assert find("hf:org/model").card == expected


@pytest.mark.parametrize("name", ["model.bin", "shared_vocabulary.txt"])
def test_a_file_that_is_not_what_the_hub_lists_is_refused(hub, name):
    hub.corrupt = {name}
    with pytest.raises(ValueError, match=f"is damaged: it is not the file {name} of the Hub. Del"):
        download("hf:org/model")


T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.json": T5, "model.safetensors": ""}, "a model of Hugging Face's type 't5'. Only"),
        ({"tf_model.h5": "", "a.txt": ""}, r"no model of a known .* Its files are: a\.txt, tf_mod"),
        ({"onnx/model.bin": ""}, r"no model of a known .* Its files are: onnx/model\.bin"),
    ],
)
def test_a_repository_without_a_model_is_refused_before_its_weights_are_sent(
    hub, tmp_path, files, message
):
    for path in (tmp_path / "model").iterdir():
        path.unlink()
    write(hub, tmp_path, files)
    with pytest.raises(ValueError, match=message):
        download("hf:org/model")
    assert not [entry for entry in hub.log if ".safetensors" in entry["path"]]


def test_names_that_lead_out_of_the_folder_are_left_out(hub, monkeypatch):
    tree = hub.tree("org/model")
    for name in ("../a.txt", "/a.txt", "a/../b.txt"):
        tree.append({**tree[1], "path": name})
    monkeypatch.setattr(hub, "tree", lambda repository: tree)
    assert download("hf:org/model").files.keys() == {"model.bin", "shared_vocabulary.txt"}


@pytest.mark.parametrize(
    ("address", "answer", "message"),
    [
        ("hf:org/none", None, r"has no model org/none, or hides it. .* `hf auth login`"),
        ("hf:org/model@v9", None, "hf:org/model has no revision 'v9'"),
        ("hf:org/model", (403, {"X-Error-Code": "GatedRepo"}), "is gated: accept .*/org/model"),
        ("hf:org/model", (429, {}), "the download of hf:org/model failed: .*429.* again later"),
        ("hf:org/model", (403, {}), "the download of hf:org/model failed: .*403"),
        ("hf:org/model", (200, {}, b"<html>"), "the download .* HF_ENDPOINT"),
    ],
)
def test_errors_say_what_to_do_in_one_line(hub, monkeypatch, address, answer, message):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.statuses = {"/api/models": answer} if answer else {}
    with pytest.raises(ValueError, match=message) as error:
        download(address)
    assert "\n" not in str(error.value)


def test_without_a_connection_the_network_is_named(hub, monkeypatch):
    monkeypatch.setattr(library().constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match=r"failed: .*Check the network, and HF_ENDPOINT"):
        download("hf:org/model")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[hub\]"'):
        download("hf:org/model")
