"""Which files of a repository an import downloads, and which repositories it refuses."""

import json

import pytest
from support.importing.loopback_hub import loopback_hub, write_card

from t2t_keras.importing.hub.client import RemoteFile
from t2t_keras.importing.hub.needed_files import RUN, fetch, needed_files, parse_address, planned

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
    weights, others = needed_files(dict.fromkeys(names, RemoteFile(1, "")), format)
    assert {*weights, *others} == names - unused


def test_a_huge_file_beside_the_weights_is_left_out():
    files = {"model.bin": RemoteFile(1 << 40, ""), "corpus.txt": RemoteFile((64 << 20) + 1, "")}
    files["vocab.txt"] = RemoteFile(64 << 20, "")
    assert needed_files(files, "ctranslate2") == (["model.bin"], ["vocab.txt"])


def test_addresses():
    assert parse_address("hf:org/name") == ("org/name", None)
    assert parse_address("hf:org/name@refs/pr/1") == ("org/name", "refs/pr/1")
    for wrong in ("hf:", "hf:name", "hf:a/b/c", "hf:a/..", "hf:a/b@../c", "hf:a b/c"):
        with pytest.raises(ValueError, match=r"is given as hf:ORG/NAME or .* Received: hf:"):
            parse_address(wrong)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A function that adds org/model to a hub, and returns the hub."""
    with loopback_hub() as hub:
        hub.use(tmp_path / "home", monkeypatch)

        def add(**files):
            for name, contents in files.items():
                path = tmp_path / "model" / name.replace("__", ".").replace("-", "/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
            hub.add("org/model", tmp_path / "model")
            return hub

        yield add


T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config__json": T5, "model__safetensors": ""}, "holds a T5ForConditionalGeneration, of"),
        (
            {"config__json": {"model_type": "marian"}, "model__safetensors__index__json": {}},
            "weights in several files. Save them as one model.safetensors",
        ),
        ({"tf_model__h5": "", "a__txt": ""}, "no model that can be imported. Its files are: a.txt"),
        ({"onnx-model__bin": ""}, "at its top. If one is in onnx: hf download org/model --local"),
    ],
)
def test_a_repository_without_a_model_is_refused_before_its_weights_are_sent(
    repository, files, message
):
    hub = repository(**files)
    with pytest.raises(ValueError, match=message):
        planned("hf:org/model")
    assert not [entry for entry in hub.log if "safetensors" in entry["path"]]


def test_the_model_card_is_described_before_the_weights_are_downloaded(repository, tmp_path):
    repository(model__bin="weights", shared_vocabulary__txt="a")
    write_card(tmp_path / "model", license="mit", language=["en", "no"])
    plan, lines = planned("hf:org/model"), []
    assert (plan.format, plan.files) == ("ctranslate2", ["shared_vocabulary.txt", "model.bin"])

    def describe(folder, card):
        assert not (folder / "model.bin").exists()
        yield f"{card['license']}, {card['language']}"

    folder, card = fetch(plan, lines.append, describe)
    assert lines[0] == "mit, ['en', 'no']"
    assert lines[1].startswith("2 of 3 files are needed, 0.0 MB; 0.0 MB are downloaded to ")
    assert (folder / "model.bin").read_text() == "weights" and card["license"] == "mit"


@pytest.mark.parametrize("card", ["---\na: [\n---\n", "---\n- a\n---\n"])
def test_a_damaged_model_card_is_a_note(repository, card):
    repository(model__bin="weights", README__md=card)
    lines = []
    assert fetch(planned("hf:org/model"), lines.append)[1] == {}
    assert lines[0].startswith("The metadata of the model card cannot be read: ")
