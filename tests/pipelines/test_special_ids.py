from pipelines.special_ids import CONTINUES, SPECIAL_PIECES
from pipelines.text.normalization import Normalization


def test_normalized_text_cannot_contain_special_pieces():
    text = Normalization()(" ".join(["a", *SPECIAL_PIECES, f"{CONTINUES}b"]))
    assert not any(mark in text for mark in (*SPECIAL_PIECES, CONTINUES))
