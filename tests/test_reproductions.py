"""t2t-reproduce's tables of trained models, at sizes that train in seconds."""

import csv

import pytest
from commands import command

from pipelines.mixed_treebank import amounts, write_mixed
from pipelines.toy_grammar import pairs
from t2t_keras.experiment import find_config, load_config_file, load_experiment

TINY = [
    "--config.data.vocabulary.size=400",
    "--config.data.batches.tokens=512",
    "--config.data.batches.max_length=64",
    "--config.search.beam=2",
    "--config.search.extra_length=0",
]


def reproduce(*arguments, at_stage=()):
    return command("reproduce", *arguments, at_stage=dict(at_stage))


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def cells(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def stages(result):
    """The stages that were begun: "base: train", …"""
    return [line.split(",")[0] for line in result.stderr.splitlines() if ", see " in line]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small parallel text, `train`, and two test sets, `one` and `two`."""
    folder = tmp_path_factory.mktemp("corpus")
    made = {"train": pairs(400), "one": pairs(20, "test"), "two": pairs(10, "test", seed=1)}
    for name, texts in made.items():
        for side, lines in zip(("en", "de"), zip(*texts, strict=True), strict=True):
            written(folder / f"{name}.{side}", lines)
    return folder


def test_table2_from_text_to_bleu_and_cost(corpus, tmp_path):
    arguments = [
        *("table2", "--rows=ende_base", f"--output={tmp_path}", *TINY, "--steps=3"),
        *(f"--source={corpus}/train.en", f"--target={corpus}/train.de"),
        *("--divide=32", "--divide_layers=6", f"--test_source={corpus}/one.en,{corpus}/two.en"),
        f"--test_target={corpus}/one.de,{corpus}/two.de",
    ]
    stopped = reproduce(*arguments, at_stage={1: "during SIGINT"})
    assert stopped.returncode == 130
    assert "interrupted. The same command goes on from here" in stopped.stderr
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    names = ["train", "average", "translate-one", "translate-two"]
    assert stages(result) == [f"ende_base: {name}" for name in names], "prepare was done"
    one, two = cells(tmp_path / "table2.csv")
    assert (one["test set"], one["lines"], two["test set"]) == ("one", "20", "two")
    assert (one["paper BLEU"], one["paper FLOPs"]) == ("27.3", "3.3e+18")
    assert float(one["FLOPs"]) > 0 and one["sacreBLEU"] and one["BLEU"]
    assert (tmp_path / "table2.md").read_text() == result.stdout
    assert "model.d_model 16 (paper 512)" in result.stdout
    assert "the last 3 checkpoints averaged" in result.stdout
    assert "tok:13a" in result.stdout and "compounds split" in result.stdout

    again = reproduce(*arguments)
    assert again.stdout == result.stdout and stages(again) == []
    evaluated = reproduce(
        *("table2", "--rows=ende_base", f"--output={tmp_path / 'other'}"),
        *(f"--run={tmp_path / 'ende_base' / 'run'}", *TINY[-2:]),
        *(f"--test_source={corpus}/one.en", f"--test_target={corpus}/one.de"),
    )
    assert stages(evaluated) == ["ende_base: translate-one"], evaluated.stderr
    assert cells(tmp_path / "other" / "table2.csv")[0] == one


def test_table3_goes_on_where_it_was_killed(tmp_path):
    arguments = [
        *("table3", "--rows=base,big", "--divide=32", "--divide_layers=6", *TINY),
        *("--steps=2", "--config.data.toy_pairs=400", f"--output={tmp_path}"),
        "--config.model.dropout=0.2",
    ]
    killed = reproduce(*arguments, at_stage={4: "before SIGKILL"})
    assert killed.returncode == -9
    assert stages(killed)[-2:] == ["base: translate", "big: train"]
    broken = reproduce(*arguments, at_stage={0: "stage SIGKILL"})
    assert broken.returncode == 2
    assert "big: train failed (exit code -9)" in broken.stderr
    assert f"{tmp_path}/big/logs/train.log" in broken.stderr.splitlines()[-1]
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    rest = ["big: train", "big: score", "big: translate"]
    assert stages(result) == rest, "what was done is not done again"
    base, big = cells(tmp_path / "table3.csv")
    assert big["what differs"].startswith("d_model 32, d_ff 128, num_heads 16, dropout 0.3")
    assert "model.dropout 0.2 (paper 0.1)" in result.stdout
    assert (base["steps"], big["steps"]) == ("2", "6"), "three times as many, as in the paper"
    assert (big["paper PPL"], big["paper PPL − base"]) == ("4.33", "-0.59")
    assert float(big["10⁶ weights − base"]) > 0 and base["10⁶ weights − base"] == "+0.000"
    assert float(base["PPL"]) > 1 and float(big["PPL"]) > 1
    longer = reproduce(*arguments, "--rows=base", "--steps=3", at_stage={1: "before SIGKILL"})
    assert stages(longer) == ["base: train", "base: score"], "its perplexity is another now"


def test_a_stages_own_process_runs_this_package(tmp_path):
    """Here a stage is started as for a user, and what it says comes to the message."""
    result = command(
        *("reproduce", "table3", "--rows=base", f"--output={tmp_path}"),
        *("--config.data.toy_pairs=300", "--config.data.vocabulary.size=30000"),
    )
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert "toy grammar: prepare failed (exit code 2): prepare.py: The text is too small" in last
    assert f"{tmp_path}/logs/prepare.log" in last


DETERMINERS, NOUNS, VERBS = ("the", "a"), ("dog", "cat", "bird"), ("sees", "hears", "likes", "has")


def trees(count):
    for number in range(count):
        one, two, verb = DETERMINERS[number % 2], NOUNS[number % 3], VERBS[number // 6 % 4]
        clause = f"(NP-SBJ (DT {one}) (NN {two})) (VP (VBZ {verb}) (NP (NN x{number})))"
        yield f"( (S {clause} (ADVP (-NONE- *T*-1))) )"  # as the Penn Treebank's own files


def test_table4_mixes_parses_and_tells_what_was_seen(tmp_path):
    train = written(tmp_path / "train.mrg", trees(40))
    automatic = written(tmp_path / "automatic", ["(S (NP (NN it)) (VP (VBZ rains)))"] * 30)
    dev = written(tmp_path / "dev.mrg", list(trees(51))[39:])
    arguments = [
        *("table4", f"--train={train}", f"--dev={dev}", f"--output={tmp_path / 'out'}", *TINY),
        *(f"--automatic={automatic}", "--ratio=1.5", "--divide=64", "--divide_layers=4"),
        *("--config.data.vocabulary.size=310", "--config.search.extra_length=9", "--steps=2"),
    ]
    killed = reproduce(*arguments, at_stage={2: "before SIGKILL"})
    assert killed.returncode == -9, killed.stderr
    result = reproduce(*arguments)
    assert result.returncode == 0, result.stderr
    assert stages(result) == ["parsing: average", "parsing: parse-dev"]
    (row,) = cells(tmp_path / "out" / "table4.csv")
    assert (row["mode"], row["paper F1"]) == ("semi-supervised", "92.7")
    assert (row["sentences"], row["also in training"]) == ("11", "1")
    assert row["trees trained on"] == "100", "60 automatic trees and 40 gold ones"
    assert int(row["repaired"]) + int(row["failed"]) == 12, "after two steps it has learned nothing"
    assert "60 automatic trees" in result.stdout and "d_model 16 (paper 1,024)" in result.stdout

    run = tmp_path / "out" / "run"
    only = ["table4", f"--dev={dev}", f"--run={run}", f"--output={tmp_path / 'other'}", *TINY[-2:]]
    scored = reproduce(*only, f"--train={train}")
    assert stages(scored) == ["parsing: parse-dev"], scored.stderr
    refused = reproduce(*only, f"--train={dev}")
    assert refused.returncode == 2
    assert "12 of 12 sentences are in the training text" in refused.stderr


def test_the_smaller_treebank_is_repeated_to_the_ratio(tmp_path):
    assert amounts(40, 1000, None) == (40, 1000)
    assert amounts(40, 1000, 2.0) == (500, 1000)
    assert amounts(40, 30, 2.0) == (40, 80)
    gold = written(tmp_path / "gold", ["(S (A a))", "(S (B b))", "(S (C c))"])
    automatic = written(tmp_path / "automatic", [f"(S-X (D {n}))" for n in range(8)])
    assert write_mixed(tmp_path / "mixed", gold, automatic, 1.0) == (8, 8)
    lines = (tmp_path / "mixed").read_text().splitlines()
    assert sorted(lines) == sorted(
        [f"(S (D {n}))" for n in range(8)] + ["(S (A a))", "(S (B b))"] * 3 + ["(S (C c))"] * 2
    )


def test_every_row_of_table_3_keeps_what_it_changes_when_divided():
    table3 = load_config_file(find_config("table3"))
    base = table3.get_config("base").model.resolved()
    for row in table3.MODELS:
        paper = table3.get_config(row).model
        ours, paper = paper.divided(8, 2).resolved(), paper.resolved()
        for name in ("d_model", "d_ff", "d_k", "d_v"):
            assert getattr(ours, name) * 8 == getattr(paper, name)
        assert ours.num_layers * 2 == paper.num_layers and ours.num_heads == paper.num_heads
        if row.startswith("A"):
            assert ours.num_heads * ours.d_k == base.d_model // 8
    with pytest.raises(ValueError, match="a divisor of d_model=512"):
        base.divided(7)


def test_each_row_has_what_the_paper_prints():
    table3 = load_config_file(find_config("table3"))
    for printed in (table3.PRINTED_PERPLEXITY, table3.PRINTED_BLEU):
        assert list(printed) == list(table3.MODELS)
    assert load_experiment("table3:big").training.steps == 300_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table2", "--leaves=tag"], "--leaves is not for table2"),
        (["table2", "--rows=ende"], "did you mean 'ende_big'"),
        (["table2", "--source=a", "--target=b"], "Files are of one pair of languages"),
        (["table2", "--rows=ende_base", "--tfds=x", "--data=x"], "in one way: --tfds=NAME"),
        (["table2", "--reduced=mixed"], "are for one row"),
        (["table2", "--rows=ende_base", "--data=x"], "--test_source and --test_target are needed"),
        (["table2", "--rows=ende_base", "--run=x", "--output={0}"], "x is no run"),
        (["table3", "--data=x"], "--dev_source and --dev_target are needed"),
        (["table3", "--divide=3", "--output={0}"], "a divisor of d_model=512"),
        (["table3", "--config=multi30k"], "each row of a table has a config of its own"),
        (["table3", "--config.training.steps=9", "--output={0}"], "--steps=N says how many"),
        (["table4", "--dev=x"], "--train, and --dev or --test or both"),
        (["table4", "--train=x", "--dev=y", "--ratio=2"], "--ratio says how to mix in"),
    ],
)
def test_a_wrong_wish_is_answered_before_anything_runs(tmp_path, arguments, message):
    result = reproduce(*(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]
    assert stages(result) == []
