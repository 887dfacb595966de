import json

import pytest

from t2t_keras.importing.marian_vocabulary import read_vocabulary

# Lines that YAML loaders read differently or lose, with their tokens.
ODD = {
    "'</s>': 0": "</s>",
    "'<unk>': 1": "<unk>",
    "'?': 2": "?",
    '\\": 3': '\\"',
    "\\\\: 4": "\\\\",
    "'''s': 5": "'s",
    "'''': 6": "'",
    '"\\x85": 7': "\x85",
    "? '\x85  '\n: 8": "\x85  ",
    '"\\u2028x\\U0001f642\\t\\"\\\\": 9': '\u2028x🙂\t"\\',
    "~: 10": "~",
    "no: 11": "no",
    "1: 12": "1",
    "e\u0301: 13": "e\u0301",
    "é: 14": "é",
    "#: 15": "#",
    "'a: b': 16": "a: b",
    '",\'": 17': ",'",
    "'\"\\n': 18": '"\\n',
    "\u2028: 19": "\u2028",
    "? 'a: c'\n:   20\r": "a: c",
}


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_odd_tokens_in_yaml_files(tmp_path):
    # The order of lines says nothing.
    path = write(tmp_path / "vocab.yml", "---\n" + "\n".join(sorted(ODD, reverse=True)))
    vocabulary = read_vocabulary(path)
    assert vocabulary.names == dict(enumerate(ODD.values()))
    assert (vocabulary.end, vocabulary.unknown, vocabulary.model) == (0, 1, None)


@pytest.mark.parametrize("name", ["vocab.json", "vocab.yml"])
def test_json_in_either_kind_of_file(tmp_path, name):
    path = write(tmp_path / name, json.dumps({"b": 3, "<unk>": 1, "a\n": 2, "</s>": 0}))
    assert read_vocabulary(path).names == {0: "</s>", 1: "<unk>", 2: "a\n", 3: "b"}


def test_text_has_a_token_in_each_line(tmp_path):
    path = write(tmp_path / "vocab.txt", "a\n<unk>\n\x85b\r\n</s>\n\u2028\n")
    vocabulary = read_vocabulary(path)
    assert vocabulary.names == dict(enumerate(["a", "<unk>", "\x85b", "</s>", "\u2028"]))
    assert (vocabulary.end, vocabulary.unknown) == (3, 1)


@pytest.mark.parametrize("lines", ["eos: 0\nUNK: 1\na: 2", "a: 2"])
def test_old_names_and_unused_ids_stand_for_end_and_unknown(tmp_path, lines):
    vocabulary = read_vocabulary(write(tmp_path / "vocab.yml", lines))
    assert vocabulary.names == {0: "</s>", 1: "<unk>", 2: "a"}
    assert (vocabulary.end, vocabulary.unknown) == (0, 1)


def test_end_and_unknown_may_have_any_ids(tmp_path):
    path = write(tmp_path / "vocab.yml", "a: 0\n</s>: 3\nb: 1\n<unk>: 2")
    order, pieces = read_vocabulary(path).in_our_order(4)
    assert pieces.pieces == ["<pad>", "<s>", "</s>", "<unk>", "a", "b"]
    assert order.theirs.tolist() == [-1, -1, 3, 2, 0, 1]


def test_tokens_beyond_the_matrix_are_dropped_and_missing_ones_have_names(tmp_path):
    path = write(tmp_path / "vocab.yml", "</s>: 0\n<unk>: 1\na: 2\nb: 4\nc: 5\nd: 6")
    _, pieces = read_vocabulary(path).in_our_order(6)
    assert pieces.pieces[4:] == ["a", "<unused 3>", "b", "c"]


def test_a_token_with_the_name_of_one_of_ours_keeps_its_own(tmp_path):
    path = write(tmp_path / "vocab.yml", "</s>: 0\n<unk>: 1\n<s>: 2\n<pad>: 3")
    _, pieces = read_vocabulary(path).in_our_order(4)
    assert pieces.pieces[4:] == ["<s>", "<pad>"]
    assert len(set(pieces.pieces)) == 6


REFUSED = [
    ("vocab.yml", "</s>: 0\n<unk> 1", "line 2 must be a token, a colon and an id"),
    ("vocab.yml", "</s>: 0\n<unk>: one", "line 2 must be"),
    ("vocab.yml", "</s>: 0\n? 'a'\nb: 1", "line 3 must be"),
    ("vocab.yml", "</s>: 0\n<unk>: 1\na: 2\na: 3", "'a' with id 3 is there a second time"),
    ("vocab.yml", "</s>: 0\n<unk>: 1\na: 2\nb: 2", "'b' with id 2 .* after 'a' with id 2"),
    ("vocab.yml", "a: 0\n<unk>: 1", "must have the token </s>"),
    ("vocab.txt", "</s>\na\n", "must have the token <unk>"),
    ("vocab.json", '{"</s>": 0', "is not a JSON file"),
    ("vocab.json", '{"</s>": "0"}', "must be a whole number"),
    ("vocab.json", '{"</s>": -1}', "must be a whole number"),
    ("vocab.fsv", "", "its name must end with one of .spm"),
    ("vocab.spm", "text", "is not a SentencePiece model"),
]


@pytest.mark.parametrize(("name", "text", "message"), REFUSED)
def test_malformed_vocabularies_are_refused_by_file_and_line(tmp_path, name, text, message):
    path = write(tmp_path / name, text)
    with pytest.raises(ValueError, match=message) as error:
        read_vocabulary(path)
    assert str(path) in str(error.value)


def test_other_encodings_than_utf_8_are_refused(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"vocab\.txt must be UTF-8"):
        read_vocabulary(path)
