"""LibreTranslate's /translate_file and /download_file, as its clients and the page call them."""

import json
import urllib.request

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import opened
from support.text.sample_documents import sample

from t2t_keras.serving.apis import files


@pytest.fixture(scope="module")
def address():
    with serving({"max_file_bytes": 100_000, "max_segments": 20}, en_de=EchoEngine()) as address:
        yield address


def sent(address, name="a.xlf", data=None, **fields):
    """Sends a form with a file; returns the status and the JSON of the answer."""
    data = sample(f".{name.rpartition('.')[2]}") if data is None else data
    lines = [b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"' % name.encode()]
    lines += [b"Content-Type: application/octet-stream\r\n", data]
    for field, value in ({"source": "en", "target": "de"} | fields).items():
        head = f'--x\r\nContent-Disposition: form-data; name="{field}"'
        lines.append(f"{head}\r\n\r\n{value}".encode())
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    body = b"\r\n".join([*lines, b"--x--\r\n"])
    return opened(urllib.request.Request(f"{address}/translate_file", body, kind))


def downloaded(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.headers, response.read()


@pytest.mark.parametrize("name", ["a.docx", "film über.srt", "a.epub"])
def test_a_file_is_translated_and_downloaded_under_its_name(address, name):
    status, answer = sent(address, name)
    assert status == 200
    headers, data = downloaded(answer["translatedFileUrl"])
    assert data == sample(f".{name.rpartition('.')[2]}") or name == "a.docx"
    assert "film%20%C3%BCber.srt" in headers["Content-Disposition"] or name != "film über.srt"


def test_targets_are_filled_and_the_settings_name_the_kinds(address):
    _, answer = sent(address)
    _, data = downloaded(answer["translatedFileUrl"])
    assert data.count(b"<target") == 5 and b'target-language="de"' in data
    with urllib.request.urlopen(f"{address}/frontend/settings") as response:
        settings = json.loads(response.read())
    assert settings["filesTranslation"] and ".docx" in settings["supportedFilesFormat"]


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"name": "a.exe", "data": b"MZ"}, 400, "no suffix of a known kind"),
        ({"data": b" " * 100_001}, 413, "--max_file_bytes"),
        ({"name": "a.txt", "data": b"A dog.\n\n" * 21}, 413, "has 21 segments; at most 20"),
        ({"target": "fr"}, 400, "fr is not supported"),
        ({"target": ""}, 400, "missing target parameter"),
        ({"name": ""}, 400, "missing file parameter"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(address, fields, status, message):
    found, answer = sent(address, **{"data": sample(".xlf"), **fields})
    assert found == status and message in answer["error"]


def test_old_files_are_deleted(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    kept = files.Files(type("Answering", (), {"limits": None})())
    first = kept.keep("a.txt", b"12345")
    assert first.endswith(".a.txt") and len(first) == 32 + 6
    kept.keep("b.txt", b"12345")
    assert first in kept.kept
    kept.keep("c.txt", b"1")
    assert first not in kept.kept, "there is no room for all"
    now[0] = files.KEPT_SECONDS + 1
    kept.keep("d.txt", b"1")
    assert len(kept.kept) == 1
