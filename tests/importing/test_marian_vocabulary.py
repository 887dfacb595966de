import json

import pytest

from t2t_keras.importing.marian_vocabulary import read_vocabulary

# Scalars that YAML loaders read differently or lose, with their tokens.
ODD = {
    "'</s>'": "</s>",
    "'<unk>'": "<unk>",
    "'?'": "?",
    '\\"': '\\"',
    "'''s'": "'s",
    "''''": "'",
    '"\\x85\\u2028x\\U0001f642\\t\\"\\\\\\ud800"': '\x85\u2028x🙂\t"\\\ufffd',
    "1": "1",
    "#": "#",
    "'a: b'": "a: b",
    '",\'"': ",'",
    "? 'a: c'\n": "a: c",
}


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_odd_tokens_in_yaml_files(tmp_path):
    lines = [f"{token}: {id}\r" for id, token in enumerate(ODD)]
    # The order of lines says nothing.
    vocabulary = read_vocabulary(write(tmp_path / "vocab.yml", "\n".join(["---", *lines[::-1]])))
    assert vocabulary.names == dict(enumerate(ODD.values()))
    assert (vocabulary.end, vocabulary.unknown, vocabulary.model) == (0, 1, None)


@pytest.mark.parametrize("name", ["vocab.json", "vocab.yml"])
def test_json_in_either_kind_of_file(tmp_path, name):
    path = write(tmp_path / name, json.dumps({"b": 3, "<unk>": 1, "a\n": 2, "</s>": 0}))
    assert read_vocabulary(path).names == {0: "</s>", 1: "<unk>", 2: "a\n", 3: "b"}


def test_text_has_a_token_in_each_line(tmp_path):
    vocabulary = read_vocabulary(write(tmp_path / "vocab.txt", "a\n<unk>\n\x85b\r\n</s>\n\u2028\n"))
    assert vocabulary.names == dict(enumerate(["a", "<unk>", "\x85b", "</s>", "\u2028"]))
    assert (vocabulary.end, vocabulary.unknown) == (3, 1)


@pytest.mark.parametrize("lines", ["eos: 0\nUNK: 1\na: 2", "a: 2"])
def test_old_names_and_unused_ids_stand_for_end_and_unknown(tmp_path, lines):
    vocabulary = read_vocabulary(write(tmp_path / "vocab.yml", lines))
    assert vocabulary.names == {0: "</s>", 1: "<unk>", 2: "a"}
    assert (vocabulary.end, vocabulary.unknown) == (0, 1)


@pytest.mark.parametrize(
    ("lines", "size", "pieces", "theirs"),
    [
        # The end and the unknown token may have any ids.
        ("a: 0\n</s>: 3\nb: 1\n<unk>: 2", 4, ["a", "b"], [3, 2, 0, 1]),
        # Tokens beyond the matrix are dropped, and missing ones get names.
        ("</s>: 0\n<unk>: 1\na: 2\nb: 4\nc: 5", 5, ["a", "<unused 3>", "b"], range(5)),
        # A token may have the name of one of ours.
        ("</s>: 0\n<unk>: 1\n<s>: 2\n<pad>: 3", 4, ["<s>", "<pad>"], range(4)),
    ],
)
def test_the_order_of_pieces(tmp_path, lines, size, pieces, theirs):
    found = read_vocabulary(write(tmp_path / "vocab.yml", lines)).pieces(size)
    assert found.pieces[2:] == ["</s>", "<unk>", *pieces]
    assert len(set(found.pieces)) == len(found.pieces) == size + 2
    assert found.ids.theirs.tolist() == [-1, -1, *theirs]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("vocab.yml", "</s>: 0\n<unk> 1", "line 2 must be a token, a colon and an id"),
        ("vocab.yml", "</s>: 0\n? 'a'\nb: 1", "line 3 must be"),
        ("vocab.yml", "</s>: 0\n<unk>: 1\na: 2\na: 3", "'a' with id 3 is there a second time"),
        ("vocab.yml", "a: 0\n<unk>: 1", "must have the token </s>"),
        ("vocab.json", '{"</s>": 0', "is not a whole JSON file"),
        ("vocab.json", '{"</s>": "0"}', "must be a whole number"),
        ("vocab.txt", "\udcff\udcfe", "is not a whole text file in UTF-8"),
        ("vocab.spm", "text", "is not a whole SentencePiece model"),
    ],
)
def test_malformed_vocabularies_are_refused_by_file_and_line(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as error:
        read_vocabulary(path)
    assert str(path) in str(error.value)
