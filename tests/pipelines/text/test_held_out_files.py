import pytest

from pipelines.data_config import DataConfig
from pipelines.text.held_out_files import HeldOutFiles, parse_sets


def test_sets_are_a_name_two_files_and_perhaps_a_tag():
    assert parse_sets(["general=a=b.en,a.de", "mine.2=m*.en,m*.de"]) == [  # JSON has lists
        HeldOutFiles("general", "a=b.en", "a.de"),
        HeldOutFiles("mine.2", "m*.en", "m*.de"),
    ]
    assert DataConfig(dev=("mine=a,b,de",)).held_out_files() == [
        HeldOutFiles("mine", "a", "b", "de")
    ]
    alone = DataConfig(dev_source="a", dev_target="b")
    assert alone.held_out_files() == [HeldOutFiles("", "a", "b")]
    assert DataConfig().held_out_files() == []


@pytest.mark.parametrize(
    ("dev", "message"),
    [
        ("mine=a,b", "`dev` must be a tuple of texts. Received: dev='mine"),
        (
            ("a.en,a.de",),
            "must be NAME=SOURCE,TARGET, .* training, held_out, loss, bleu. Received: dev='a.en",
        ),
        (("mine=a,b,de,d",), "must be NAME=SOURCE,TARGET, such as"),
        (("a/b=a,b",), "A NAME has letters"),
        (("Held_Out=a,b",), "Received: dev='Held_Out=a,b'"),
        (("mine=a,b", "Mine=c,d"), "each with its own NAME.* Received: dev='Mine=c,d'"),
    ],
)
def test_wrong_sets_are_refused(dev, message):
    with pytest.raises(ValueError, match=message):
        DataConfig(dev=dev).validate()


def test_pairs_are_read_as_text_and_errors_name_the_set(tmp_path):
    (tmp_path / "en").write_bytes(b"a dog\n\xff\n")
    (tmp_path / "de").write_bytes(b"ein Hund\n?\n")
    files = HeldOutFiles("mine", f"{tmp_path}/en", f"{tmp_path}/de")
    assert files.read() == [("a dog", "ein Hund"), ("\ufffd", "?")]
    (tmp_path / "none").touch()
    for name, start in (("mine", "Held-out set 'mine': There is no"), ("", "There is no")):
        with pytest.raises(ValueError, match=f"^{start} target file nowhere"):
            files._replace(name=name, target="nowhere").read()
    with pytest.raises(ValueError, match=r"set 'mine': There is no text in .*none and .*none"):
        files._replace(source=f"{tmp_path}/none", target=f"{tmp_path}/none").read()
