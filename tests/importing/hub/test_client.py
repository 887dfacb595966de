"""Downloads from a loopback Hub: complete, verified, resumed, or refused with what to do."""

import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from support.importing.loopback_hub import loopback_hub

from t2t_keras.importing.hub import client as hub_client
from t2t_keras.importing.hub import requests
from t2t_keras.importing.hub.cache import cache_of, library, remember
from t2t_keras.importing.hub.client import check_room, download, list_files, missing_bytes

MODEL = "org/model"
SIZE = 200_000  # bytes of the weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    random = np.random.default_rng(1)
    (folder / "model.safetensors").write_bytes(random.bytes(SIZE))
    (folder / "vocab.json").write_text('{"a": 0}')
    return folder


@pytest.fixture(scope="module")
def server():
    with loopback_hub() as hub:
        yield hub


@pytest.fixture
def hub(server, folder, tmp_path, monkeypatch):
    """The server without accidents, used by a client with an empty cache."""
    server.add(MODEL, folder)
    server.use(tmp_path, monkeypatch)
    server.log.clear()
    server.gated, server.statuses, server.corrupt = {}, {}, set()
    server.headers, server.endless = {}, set()
    return server


def blobs(tmp_path, pattern="*"):
    return sorted((tmp_path / "hub" / "models--org--model" / "blobs").glob(pattern))


def test_files_arrive_in_the_cache_of_huggingface_hub_and_are_not_sent_twice(hub, folder, tmp_path):
    listing = list_files(MODEL)
    names = ["vocab.json", "model.safetensors"]
    assert missing_bytes(listing, names) == SIZE + 8
    found = download(listing, names)
    assert found == tmp_path / "hub" / "models--org--model" / "snapshots" / listing.revision
    for name in names:
        assert (found / name).read_bytes() == (folder / name).read_bytes()
    sent = hub.sent("/model.safetensors")
    assert sent == SIZE and missing_bytes(listing, names) == 0
    assert download(listing, names) == found and hub.sent("/model.safetensors") == sent
    assert not blobs(tmp_path, "*.incomplete")


def test_the_token_reaches_the_hub_and_not_the_storage(hub, monkeypatch):
    hub.gated[MODEL] = "secret"
    monkeypatch.setenv("HF_TOKEN", "secret")
    download(list_files(MODEL), ["model.safetensors"])
    tokens = {entry["path"].partition("?")[0]: entry["token"] for entry in hub.log}
    assert tokens[f"/{MODEL}/model.safetensors"] == ""
    assert {token for path, token in tokens.items() if "resolve" in path} == {"secret"}


@pytest.mark.parametrize("have", [1, 70_000, SIZE])
def test_a_partial_file_is_completed(hub, folder, tmp_path, have):
    listing, lines = list_files(MODEL), []
    whole = (folder / "model.safetensors").read_bytes()
    partial = partial_of(listing)
    partial.write_bytes(whole[:have])
    assert missing_bytes(listing, ["model.safetensors"]) == SIZE - have
    found = download(listing, ["model.safetensors"], lines.append)
    assert (found / "model.safetensors").read_bytes() == whole
    assert hub.sent("/model.safetensors") == SIZE - have
    assert "resumed after" in lines[0]


@pytest.mark.parametrize("contents", [b"x" * 70_000, b"x" * SIZE, b"x" * (SIZE + 1)])
def test_a_damaged_partial_file_is_downloaded_again(hub, folder, contents):
    listing = list_files(MODEL)
    partial_of(listing).write_bytes(contents)
    found = download(listing, ["model.safetensors"], lambda line: None)
    assert (found / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def partial_of(listing):
    path = cache_of(MODEL) / "blobs" / listing.files["model.safetensors"].digest
    path.parent.mkdir(parents=True)
    return hub_client.partial_file(path)


def test_a_connection_that_breaks_is_resumed_by_the_same_call(hub, folder, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    hub.break_after = 100_000
    found = download(list_files(MODEL), ["model.safetensors"])
    assert (found / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    ranges = [e["range"] for e in hub.log if e["path"].startswith(f"/{MODEL}/model.safe")]
    assert ranges[0] is None and ranges[1].startswith("bytes=") and len(ranges) == 2


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.json"])
def test_a_file_that_is_not_what_the_hub_lists_is_refused(hub, tmp_path, name):
    hub.corrupt = {name}
    with pytest.raises(ValueError, match=f"{name} of hf:org/model was damaged on the way"):
        download(list_files(MODEL), [name])
    assert not [path for path in blobs(tmp_path) if path.is_file()]
    hub.corrupt = set()
    download(list_files(MODEL), [name])


def test_damage_in_the_cache_is_noticed(hub):
    found = download(list_files(MODEL), ["model.safetensors"])
    blob = (found / "model.safetensors").resolve()
    blob.write_bytes(b"x" + blob.read_bytes()[1:])
    for offline in (False, True):
        remember(list_files(MODEL))
        library().constants.HF_HUB_OFFLINE = offline
        with pytest.raises(ValueError, match=f"{blob} is damaged: .* Delete it and run"):
            download(list_files(MODEL), ["model.safetensors"])


def test_offline_the_cache_is_the_hub(hub, monkeypatch):
    listing = list_files(MODEL)
    found = download(listing, ["model.safetensors"])
    remember(listing, "main")
    monkeypatch.setattr(library().constants, "HF_HUB_OFFLINE", True)
    requests = len(hub.log)
    for revision in (None, "main", listing.revision):
        cached = list_files(MODEL, revision)
        assert cached.files == {"model.safetensors": listing.files["model.safetensors"]}
        assert download(cached, ["model.safetensors"]) == found
    assert len(hub.log) == requests
    for repository, revision in ((MODEL, "v2"), ("org/other", None), (MODEL, "../refs")):
        with pytest.raises(ValueError, match=r"HF_HUB_OFFLINE is set, and .* has no copy of"):
            list_files(repository, revision)


def test_names_that_lead_out_of_the_folder_are_left_out(hub, monkeypatch):
    info = hub.info(MODEL)
    bad = ["../x", "/x", "a/../x", "a\\x", "..", "a//x", "a\nb", ""]
    info["siblings"] += [{"rfilename": name, "size": 1, "blobId": "0" * 40} for name in bad]
    info["siblings"] += [{"rfilename": "b.json", "size": -1, "blobId": "0" * 40}]
    info["siblings"] += [{"rfilename": "c.json", "size": 1, "blobId": "../../x"}]
    monkeypatch.setattr(hub, "info", lambda repository: info)
    assert list_files(MODEL).files.keys() == {"model.safetensors", "vocab.json"}


@pytest.mark.parametrize("name", ["vocab.json", "model.safetensors"])
def test_headers_of_a_server_determine_no_path(hub, folder, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    etag = f'"{"../" * 20}{victim}"'
    wrong = {"ETag": etag, "X-Linked-ETag": etag, "X-Repo-Commit": "../../b"}
    hub.headers = {"/resolve|/org/": wrong}
    listing = list_files(MODEL)
    found = download(listing, [name])
    assert found.name == listing.revision
    assert (found / name).read_bytes() == (folder / name).read_bytes()
    assert victim.read_text() == "precious"


def test_an_answer_larger_than_expected_is_not_stored(hub, tmp_path, monkeypatch):
    listing = list_files(MODEL)
    hub.endless = {"vocab.json", "/api/models/"}
    with pytest.raises(ValueError, match=r"sent more than the expected 8 bytes. Check HF_ENDPOINT"):
        download(listing, ["vocab.json"])
    assert not blobs(tmp_path)
    monkeypatch.setattr(requests, "LARGEST_ANSWER", 100_000)
    with pytest.raises(ValueError, match=r"sent more than the expected 100,000 bytes"):
        list_files(MODEL)
    hub.statuses = {"/api/models/": (404, {})}
    with pytest.raises(ValueError, match="unexpected status 404"):
        list_files(MODEL)
    assert max(entry["sent"] for entry in hub.log) < 50_000_000  # as much as sockets hold
    hub.endless, hub.statuses, hub.headers = set(), {}, {"vocab": {"Content-Encoding": "gzip"}}
    with pytest.raises(ValueError, match=r"with the encoding 'gzip', which was not requested"):
        download(listing, ["vocab.json"])


def test_a_disk_without_room_is_refused_before_the_download(hub, monkeypatch):
    listing = list_files(MODEL)
    usage = namedtuple("Usage", "total used free")(0, 0, SIZE)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ValueError, match=r"has 0.2 MB free, and hf:org/model needs 0.2 MB to"):
        check_room(listing, ["model.safetensors"])
    assert hub.sent("safetensors") == 0


ANSWERS = [
    ({"org/none": None}, "has no model org/none, or hides it. .* `hf auth login`, or set HF_TOKEN"),
    ({MODEL: "v9"}, "hf:org/model has no revision 'v9'"),
    ((429, {"Retry-After": 30}), r"too many requests from here \(429\). Wait 30 seconds"),
    ((503, {}), r"out of order at the moment \(503\). Try again later"),
    ((403, {}), r"refused the access \(403\): log in with"),
    ((418, {}), "unexpected status 418. Check HF_ENDPOINT"),
    ((200, {}), "did not answer as a Hugging Face Hub does. Check HF_ENDPOINT"),
]


@pytest.mark.parametrize(("answer", "message"), ANSWERS)
def test_errors_say_what_to_do(hub, answer, message):
    repository, revision = next(iter(answer.items())) if isinstance(answer, dict) else (MODEL, None)
    if not isinstance(answer, dict):
        hub.statuses = {"/api/models": answer}
    with pytest.raises(ValueError, match=message) as error:
        list_files(repository, revision)
    assert "\n" not in str(error.value)


def test_a_gated_repository_names_its_page(hub, monkeypatch):
    hub.gated[MODEL] = "secret"
    listing = list_files(MODEL)
    for token in ("", "wrong"):
        monkeypatch.setenv("HF_TOKEN", token)
        with pytest.raises(ValueError, match=f"is gated: accept .* {hub.address}/{MODEL}, and log"):
            download(listing, ["vocab.json"])


def test_without_a_connection_a_cached_copy_is_mentioned(hub, monkeypatch):
    listing = list_files(MODEL)
    monkeypatch.setattr(library().constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match=r"no connection to .*HTTPS_PROXY if they are set$"):
        list_files(MODEL)
    monkeypatch.setattr(library().constants, "ENDPOINT", hub.address)
    download(listing, ["vocab.json"])
    remember(listing)
    monkeypatch.setattr(library().constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match=r"HF_HUB_OFFLINE=1 uses the copy in the cache$"):
        list_files(MODEL)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[hub\]"'):
        list_files(MODEL)


def test_lines_about_a_long_download_are_rare(monkeypatch):
    lines, now = [], [0.0]
    monkeypatch.setattr(hub_client.time, "monotonic", lambda: now[0])
    with hub_client.lines_by(lines.append)("model.bin", total=10**8, initial=10**7) as bar:
        for _ in range(90):
            now[0] += 0.5
            bar.update(10**6)
    assert lines[0] == "model.bin: 30.0 MB of 100.0 MB (30%)" and len(lines) == 4


def test_the_cache_has_a_folder_for_each_repository(hub, tmp_path):
    assert cache_of(MODEL) == Path(tmp_path) / "hub" / "models--org--model"
