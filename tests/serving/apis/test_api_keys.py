"""API keys: the file, where keys are given, and what a request without one gets."""

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get, predict

from t2t_keras.serving.apis.api_keys import INVALID, MISSING, ApiKeys


@pytest.fixture
def file(tmp_path):
    (tmp_path / "keys").write_text("# of the shop\nfirst-key\n\n  second-key  \n")
    return tmp_path / "keys"


def test_keys_are_read_again_when_the_file_changes_and_kept_if_it_is_broken(file, caplog):
    keys = ApiKeys(file)
    assert keys.is_valid("first-key") and keys.is_valid("second-key")
    assert not any(map(keys.is_valid, ("# of the shop", "", "é", "first-key ", "first-ke")))
    file.write_text("third-key\n")
    assert (keys.is_valid("third-key"), keys.is_valid("first-key")) == (True, False)
    # An editor may empty a file before it writes it.
    for break_it in (lambda: file.write_text("a b\n"), lambda: file.write_text(""), file.unlink):
        break_it()
        assert keys.is_valid("third-key") and keys.is_valid("third-key")
    assert caplog.text.count("The API keys stay as they were") == 3


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"# only a comment\n", "contains no key"),
        (b"good\nbad key\n", "line 2: a key must consist of"),
        (b"\xff\xfe\n", "line 1: a key must consist of"),
    ],
)
def test_a_file_that_is_not_one_of_keys_is_refused(file, contents, message):
    file.write_bytes(contents)
    with pytest.raises(ValueError, match=message) as error:
        ApiKeys(file)
    assert "bad key" not in str(error.value)


def test_both_interfaces_need_a_key_and_clients_can_find_out(file):
    with serving(en_de=EchoEngine(), options={"keys": ApiKeys(file)}) as address:
        path, rows = "v1/models/en-de:predict", {"instances": ["a"]}
        for key, status in (
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": "Basic first-key"}, 401),
            ({"Authorization": "Bearer first-key"}, 200),
            ({"Authorization": "Bearer first-key", "X-API-Key": "wrong"}, 401),
            ({"Authorization": "Basic of a proxy", "X-API-Key": "second-key"}, 200),
        ):
            assert predict(address, rows, path, **key)[0] == status
        for protected in ("v1/models/en-de", "v1/models/en-de/metadata", "metrics"):
            assert get(address, protected)[0] == 401

        fields = b"q=a&source=en&target=de"
        for data, key, answer in (
            (fields, {}, (400, {"error": MISSING})),
            (fields + b"&api_key=wrong", {}, (403, {"error": INVALID})),
            (fields + b"&api_key=first-key", {}, (200, {"translatedText": "a"})),
            (fields, {"X-API-Key": "second-key"}, (200, {"translatedText": "a"})),
        ):
            assert predict(address, data, "translate", **key) == answer
        assert get(address, "translate?api_key=first-key&" + fields.decode())[0] == 200
        assert predict(address, b"q=a", "detect") == (400, {"error": MISSING})

        for open_to_all in ("", "healthz", "health", "languages", "openapi.json"):
            assert get(address, open_to_all)[0] == 200
        settings = get(address, "frontend/settings")[1]
        assert settings["apiKeys"] and settings["keyRequired"]
        document = get(address, "openapi.json")[1]
        assert set(document["components"]["securitySchemes"]) == {"bearer", "header"}
