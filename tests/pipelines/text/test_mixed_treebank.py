"""Gold and automatic trees mixed in a ratio."""

from pipelines.text.mixed_treebank import amounts, write_mixed


def test_the_larger_treebank_is_used_once_and_the_smaller_one_repeated():
    assert amounts(40, 1000, None) == (40, 1000)
    assert amounts(40, 1000, 2.0) == (500, 1000)
    assert amounts(40, 30, 2.0) == (40, 80)


def test_the_mixture_has_every_tree_of_the_larger_treebank_in_the_ratio(tmp_path):
    gold, automatic = tmp_path / "gold", tmp_path / "automatic"
    gold.write_text("(S (A a))\n(S (B b))\n(S (C c))\n")
    automatic.write_text("".join(f"(S-X (D {n}))\n" for n in range(8)))
    assert write_mixed(tmp_path / "mixed", gold, automatic, 1.0) == (8, 8)
    lines = (tmp_path / "mixed").read_text().splitlines()
    expected = [f"(S (D {n}))" for n in range(8)]
    expected += ["(S (A a))", "(S (B b))"] * 3 + ["(S (C c))"] * 2
    assert sorted(lines) == sorted(expected)
