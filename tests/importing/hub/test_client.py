"""Downloads from a loopback Hub: complete, verified, resumed, or refused with what to do."""

import shutil
import sys
from unittest import mock

import numpy as np
import pytest
from support.importing.loopback_hub import loopback_hub

from t2t_keras.importing.hub import client as hub_client
from t2t_keras.importing.hub import requests
from t2t_keras.importing.hub.cache import cache_of, library, remember
from t2t_keras.importing.hub.client import check_room, download, list_files, missing_bytes

MODEL, LARGE = "org/model", "model.safetensors"
SIZE = 200_000  # bytes of the weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    (folder / LARGE).write_bytes(np.random.default_rng(1).bytes(SIZE))
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
    return server


def blobs():
    return [path for path in (cache_of(MODEL) / "blobs").glob("*") if path.is_file()]


def check_download(folder, name=LARGE, show=print):
    """Downloads a file, which must have the contents of the repository's."""
    found = download(list_files(MODEL), [name], show)
    assert (found / name).read_bytes() == (folder / name).read_bytes()
    return found


def test_files_arrive_in_the_cache_of_huggingface_hub_and_are_not_sent_twice(hub, folder, tmp_path):
    listing, names = list_files(MODEL), ["vocab.json", LARGE]
    assert missing_bytes(listing, names) == SIZE + 8
    found = download(listing, names)
    assert found == tmp_path / "hub" / "models--org--model" / "snapshots" / listing.revision
    for name in names:
        assert (found / name).read_bytes() == (folder / name).read_bytes()
    assert hub.sent(f"/{LARGE}") == SIZE and missing_bytes(listing, names) == 0
    assert download(listing, names) == found and hub.sent(f"/{LARGE}") == SIZE
    assert len(blobs()) == 2


def test_the_token_reaches_the_hub_and_not_the_storage(hub, monkeypatch):
    hub.gated[MODEL] = "secret"
    monkeypatch.setenv("HF_TOKEN", "secret")
    download(list_files(MODEL), [LARGE])
    tokens = {entry["path"].partition("?")[0]: entry["token"] for entry in hub.log}
    assert tokens.pop(f"/{MODEL}/{LARGE}") == ""
    assert set(tokens.values()) == {"secret"}


def partial_of(listing):
    path = cache_of(MODEL) / "blobs" / listing.files[LARGE].digest
    path.parent.mkdir(parents=True)
    return hub_client.partial_file(path)


@pytest.mark.parametrize(
    ("size", "is_damaged"), [(70_000, False), (SIZE, False), (SIZE + 1, False), (70_000, True)]
)
def test_a_partial_file_is_completed_or_downloaded_again(hub, folder, size, is_damaged):
    listing, lines = list_files(MODEL), []
    contents = b"x" * size if is_damaged else (folder / LARGE).read_bytes().ljust(size)[:size]
    partial_of(listing).write_bytes(contents)
    assert missing_bytes(listing, [LARGE]) == max(SIZE - size, 0)
    check_download(folder, show=lines.append)
    if not is_damaged and size <= SIZE:
        assert hub.sent(f"/{LARGE}") == SIZE - size
        assert lines[0].startswith(f"{LARGE}: resumed after")


def test_a_connection_that_breaks_is_resumed_by_the_same_call(hub, folder, monkeypatch):
    waits = []
    monkeypatch.setattr(requests.time, "sleep", waits.append)
    hub.break_after = 100_000
    check_download(folder)
    ranges = [entry["range"] for entry in hub.log if entry["path"].startswith(f"/{MODEL}/{LARGE}")]
    assert ranges[0] is None and ranges[1].startswith("bytes=") and len(ranges) == 2
    assert waits == [1.0]


@pytest.mark.parametrize("name", [LARGE, "vocab.json"])
def test_a_file_that_is_not_what_the_hub_lists_is_refused(hub, folder, name):
    hub.corrupt = {name}
    with pytest.raises(ValueError, match=f"{name} of hf:org/model was damaged on the way"):
        download(list_files(MODEL), [name])
    assert not blobs()
    hub.corrupt = set()
    check_download(folder, name)


@pytest.mark.parametrize("offline", [False, True])
def test_damage_in_the_cache_is_noticed(hub, folder, monkeypatch, offline):
    blob = (check_download(folder) / LARGE).resolve()
    blob.write_bytes(b"x" + blob.read_bytes()[1:])
    remember(list_files(MODEL))
    monkeypatch.setattr(library().constants, "HF_HUB_OFFLINE", offline)
    with pytest.raises(ValueError, match=f"{blob} is damaged: .* Delete it and run"):
        download(list_files(MODEL), [LARGE])


def test_offline_the_cache_is_the_hub(hub, folder, monkeypatch):
    listing = list_files(MODEL)
    found = check_download(folder)
    remember(listing, "main")
    monkeypatch.setattr(library().constants, "HF_HUB_OFFLINE", True)
    requests = len(hub.log)
    for revision in (None, "main", listing.revision):
        cached = list_files(MODEL, revision)
        assert cached.files == {LARGE: listing.files[LARGE]}
        assert download(cached, [LARGE]) == found
    assert len(hub.log) == requests
    for repository, revision in ((MODEL, "v2"), ("org/other", None), (MODEL, "../refs")):
        with pytest.raises(ValueError, match=r"HF_HUB_OFFLINE is set, and .* has no copy of"):
            list_files(repository, revision)


def test_names_that_lead_out_of_the_folder_are_left_out(hub, monkeypatch):
    info = hub.info(MODEL)
    names = ["../x", "/x", "a/../x", "a\\x", "..", "a//x", "a\nb", ""]
    info["siblings"] += [{"rfilename": name, "size": 1, "blobId": "0" * 40} for name in names]
    info["siblings"] += [{"rfilename": "b.json", "size": -1, "blobId": "0" * 40}]
    info["siblings"] += [{"rfilename": "c.json", "size": 1, "blobId": "../../x"}]
    monkeypatch.setattr(hub, "info", lambda repository: info)
    assert list_files(MODEL).files.keys() == {LARGE, "vocab.json"}


def test_an_answer_larger_than_expected_is_not_stored(hub, monkeypatch):
    listing = list_files(MODEL)
    hub.statuses = {"/vocab.json": (200, {}, b" " * 1000)}
    with pytest.raises(ValueError, match=r"sent more than the expected 8 bytes. Check HF_ENDPOINT"):
        download(listing, ["vocab.json"])
    assert not blobs()
    monkeypatch.setattr(requests, "LARGEST_ANSWER", 100)
    with pytest.raises(ValueError, match=r"sent more than the expected 100 bytes"):
        list_files(MODEL)
    hub.statuses = {"vocab": (200, {"Content-Encoding": "gzip"})}
    with pytest.raises(ValueError, match=r"with the encoding 'gzip', which was not requested"):
        download(listing, ["vocab.json"])


def test_a_disk_without_room_is_refused_before_the_download(hub, monkeypatch):
    usage = mock.Mock(free=SIZE + (32 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    check_room(list_files(MODEL), [LARGE])
    usage.free -= 1
    with pytest.raises(ValueError, match=r"has 33.8 MB free, and hf:org/model needs 0.2 MB to"):
        check_room(list_files(MODEL), [LARGE])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((429, {"Retry-After": 30}), r"too many requests from here \(429\). Wait 30 seconds"),
        ((500, {}), r"out of order at the moment \(500\). Try again later"),
        ((403, {}), r"refused the access \(403\): log in with"),
        ((404, {}), "unexpected status 404. Check HF_ENDPOINT"),
        ((200, {}), "did not answer as a Hugging Face Hub does. Check HF_ENDPOINT"),
    ],
)
def test_errors_say_what_to_do(hub, answer, message):
    hub.statuses = {"/api/models": answer}
    with pytest.raises(ValueError, match=message) as error:
        list_files(MODEL)
    assert "\n" not in str(error.value)


def test_what_is_not_there_is_named(hub):
    for repository, revision, message in (
        ("org/none", None, r"has no model org/none, or hides it. .* `hf auth login`"),
        (MODEL, "v9", "hf:org/model has no revision 'v9'"),
    ):
        with pytest.raises(ValueError, match=message):
            list_files(repository, revision)
    listing = list_files(MODEL)
    listing.files["gone.json"] = listing.files["vocab.json"]
    with pytest.raises(ValueError, match=r"has no file gone\.json any more. Run the command again"):
        download(listing, ["gone.json"])


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_gated_repository_names_its_page(hub, monkeypatch, token):
    hub.gated[MODEL] = "secret"
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ValueError, match=f"is gated: accept .* {hub.address}/{MODEL}, and log"):
        download(list_files(MODEL), ["vocab.json"])


def test_without_a_connection_a_cached_copy_is_mentioned(hub, folder, monkeypatch):
    def unreachable(message):
        with monkeypatch.context() as patch:
            patch.setattr(library().constants, "ENDPOINT", "http://127.0.0.1:9")
            with pytest.raises(ValueError, match=message):
                list_files(MODEL)

    unreachable(r"no connection to .*HTTPS_PROXY if they are set$")
    check_download(folder)
    remember(list_files(MODEL))
    unreachable(r"HF_HUB_OFFLINE=1 uses the copy in the cache$")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[hub\]"'):
        list_files(MODEL)
