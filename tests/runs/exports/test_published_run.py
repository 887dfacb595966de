"""A published config.json names no folder of this machine."""

import json
import re

from t2t_keras.runs.exports.published_run import base_names, published_settings, without_paths

PATHS = {
    "data at /home/mary/data, and ~/x/y.de": "data at data, and y.de",
    "--run=/srv/runs/a": "--run=a",
    r"C:\Users\mary\train.en": "train.en",
    "../../home/mary/a.en, ./x/b.en": "a.en, b.en",
    "file:///home/mary/t.en": "t.en",
    "C:/Users/Mary/t.en or D:/t.en": "t.en or t.en",
    "a'/home/x/y'b": "a'y'b",
    "/x/y/": "y/",
    "1 ... 2 . / 3, en/de and 1/2": "1 ... 2 . / 3, en/de and 1/2",
    "/": "/",
    "https://example.org/a/b": "https://example.org/a/b",
}


def test_absolute_paths_become_names():
    assert {text: without_paths(text) for text in PATHS} == PATHS
    assert without_paths({"a": ["/x/y", 1, None]}) == {"a": ["y", 1, None]}


def test_lists_of_files_become_names():
    texts = {
        "data/mine": "mine",
        "../a/general:1,b/mine:4": "general:1,mine:4",
        "news=x/dev.en,x/dev.de,fr": "news=dev.en,dev.de,fr",
        "/x/y/": "y",
        "": "",
    }
    assert {text: base_names(text) for text in texts} == texts


def test_settings_keep_everything_but_paths():
    data = {"folder": "secret/a,secret/b", "dev_source": "/secret/dev.en", "dev_target": ""}
    contents = {
        "experiment": {"data": {**data, "dev": ["m=secret/m.en,secret/m.de"]}, "search": {}},
        "command": ["/secret/t2t-train", "--data=secret/a"],
        "init": "secret/first",
        "preparation": {"source text": "a9f5", "data set": "wmt /secret/tfds"},
        "tags": ["de", None],
    }
    found = published_settings(json.loads(json.dumps(contents)))
    assert "secret" not in json.dumps(found)
    data = {"folder": "a,b", "dev_source": "dev.en", "dev_target": "", "dev": ["m=m.en,m.de"]}
    assert found["experiment"] == {"data": data, "search": {}}
    assert (found["command"], found["init"], found["tags"]) == ([], "first", ["de", None])
    assert found["imported"] == "t2t_keras"


def test_folders_with_spaces_and_commas_become_names():
    folder = "../mary smith/my, secret/data, v2"
    files = ["work/acme smith/a, b.en", "C:/Ann/x y.de"]
    facts = {"folder": folder, "pairs": 3, "words": [5, 6], "files": files}
    contents = {
        "experiment": {"data": {"folder": f"{folder}:2,work/other:1", "dev": []}},
        "corpora": [facts, facts | {"folder": "work/other", "files": []}],
        "preparation": {"warning": f"{files[0]} is short"},
    }
    found = published_settings(contents)
    assert found["corpora"][0] == facts | {"folder": "data, v2", "files": ["a, b.en", "x y.de"]}
    assert found["experiment"]["data"]["folder"] == "data, v2:2,other:1"
    assert found["preparation"] == {"warning": "a, b.en is short"}
    assert not re.search("smith|secret|acme|Ann|work", json.dumps(found))
