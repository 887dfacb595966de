"""The commands as their users run them: in a process of their own."""

import json
import shutil

import pytest
from commands import command

from pipelines.tokenizers import (
    SPECIAL_PIECES,
    WordPieceTokenizer,
    load_tokenizer,
    save_tokenizer,
)
from pipelines.toy_grammar import pairs
from t2t_keras.cli.exports import export_in
from t2t_keras.cli.main import resolve_config
from t2t_keras.experiment import find_config


def parameters(*arguments):
    return command("parameters", *arguments)


def test_parameters_of_a_config_with_a_setting_changed():
    result = parameters("--config=table3:B_dk16", "--config.model.d_ff=1024")
    assert result.returncode == 0, result.stderr
    assert "d_ff=1024" in result.stdout and "d_k=16" in result.stdout
    assert result.stdout.split()[-1] == f"{55_967_744 - 12 * (2 * 512 * 1024 + 1024):,}"


def test_parameters_without_flags_prints_table_3():
    result = parameters()
    assert result.returncode == 0, result.stderr
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()[3:]}
    assert len(rows) == 20
    assert rows["B_dk16"] == ["55.97", "-7.08", "58.07", "-7.08", "58", "-7"]
    assert rows["E_learned"] == ["64.09", "+1.05", "66.19", "+1.05"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config=bass"], "There is no config 'bass'"),
        (["--config=base", "--config.model.d_ff=wide"], "d_ff=wide: invalid literal"),
        (["--config=base", "--config.model.dropout=1.5"], "`dropout` must be"),
        (["--cofnig=base"], "Unknown command line flag 'cofnig'"),
        (["base"], "takes flags only. Received: base"),
    ],
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(arguments, message):
    result = parameters(*arguments)
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert message in last
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_help_tells_what_the_command_does():
    result = parameters("--help")
    assert "how many weights a config's model has" in result.stdout
    assert "--config.SETTING=VALUE" in " ".join(result.stdout.split())


def test_a_command_whose_output_nobody_reads_ends_quietly():
    """As `t2t-parameters | head -1` may: what is left goes out when the command ends."""
    result = command("parameters", read=False)
    assert result.returncode == 0
    assert "Error" not in result.stderr and "Exception" not in result.stderr


def test_a_shipped_name_becomes_a_path_and_everything_else_stays():
    path = find_config("table3")
    arguments = ["--config.model.d_ff=8", "--config", "table3:big", "x", "--", "--config=no"]
    expected = [f"--config={path}:big", "--config.model.d_ff=8", "x", "--", "--config=no"]
    assert resolve_config(arguments) == expected


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.model.dff=3", r"config.model has no setting 'dff' \(did you mean 'd_ff'\?\)"),
        ("--config.modle.d_ff=3", r"config has no setting 'modle' \(did you mean 'model'\?\)"),
        ("--config.training.steps.x=3", "config.training.steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_nearest(flag, message):
    with pytest.raises(ValueError, match=message):
        resolve_config(["--config=base", flag])
    with pytest.raises(ValueError, match="name one with --config=NAME"):
        resolve_config([flag])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    made = pairs(1200)
    (folder / "train.en").write_text("".join(f"{english}\n" for english, _ in made))
    (folder / "train.de").write_text("".join(f"{german}\n" for _, german in made))
    (folder / "train.tsv").write_text("".join(f"{e}\t{g}\n" for e, g in made))
    (folder / "short.de").write_text("Ein Satz.\n")
    (folder / "trees").write_text("(S (NP (NN a)) (VP (VB b)))\n" * 200)
    return folder


SMALL = ["--config.data.vocabulary.size=400", "--config.data.batches.tokens=4000"]


@pytest.fixture(scope="module")
def prepared(corpus):
    files = [f"--source={corpus}/train.en", f"--target={corpus}/train.de"]
    return command("prepare", *files, f"--output={corpus}/data", *SMALL), corpus / "data"


def test_prepare_reports_and_says_it_again(prepared, corpus):
    result, folder = prepared
    assert result.returncode == 0, result.stderr
    assert "1,200 read" in result.stdout and "400 pieces (bpe)" in result.stdout
    assert "encoding: " in result.stderr
    again = command(
        *("prepare", f"--source={corpus}/train.en", f"--target={corpus}/train.de"),
        *(f"--output={folder}", *SMALL),
    )
    assert again.stdout == result.stdout
    assert "encoding" not in again.stderr


def test_prepare_reads_tabs_from_standard_input(prepared, corpus):
    text = (corpus / "train.tsv").read_text()
    result = command("prepare", "--pairs=-", f"--output={corpus}/from_stdin", *SMALL, stdin=text)
    assert result.returncode == 0, result.stderr
    assert result.stdout == prepared[0].stdout


def test_prepare_reads_trees(corpus):
    result = command(
        *("prepare", "--config=parsing", f"--treebank={corpus}/trees"),
        *(f"--output={corpus}/parsed", "--config.data.vocabulary.size=275"),
    )
    assert result.returncode == 0, result.stderr
    tokenizer = load_tokenizer(corpus / "parsed" / "vocabulary")
    pieces = tokenizer.pieces(tokenizer.encode(["(S (NP XX )NP )S"])[0])
    assert pieces[:2] == ["▁(S", "▁(NP"] and pieces[-2:] == ["▁)NP", "▁)S"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output=x"], "Say where the text is, in one way"),
        (["--source={0}/train.en", "--output=x"], "Say where the text is, in one way"),
        (["--pairs={0}/train.tsv", "--tfds=x", "--output=x"], "Say where the text is, in one way"),
        (["--pairs={0}/train.tsv"], "--output=FOLDER is needed"),
        (["--source={0}/train.en", "--target={0}/short.de", "--output={0}/x"], "de has 1. Line n"),
        (["--pairs={0}/train.en", "--output={0}/y"], "line 1: a pair needs a tab"),
        (["--pairs={0}/no.tsv", "--output={0}/y"], "There is no pairs file"),
        (["--pairs={0}/train.tsv", "--output={0}/train.en"], "File exists"),
        (
            ["--pairs={0}/train.tsv", "--output={0}/data", *SMALL[:1]],
            "prepared from something else",
        ),
        (["--pairs={0}/train.tsv", "--output={0}/z"], "can have at most"),
        (["--pairs=x", "--output=x", "--vocabulary={0}"], "holds no readable vocabulary"),
        (["--pairs=x", "--output=x", "--config.data.vocabulary.kind=bep"], "`kind` must be one of"),
    ],
)
def test_prepare_names_what_is_wrong(prepared, corpus, arguments, message):
    result = command("prepare", *(argument.format(corpus) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


TINY_RUN = [
    "--config.model.num_layers=1",
    "--config.model.d_model=16",
    "--config.model.d_ff=16",
    "--config.data.toy_pairs=300",
    "--config.data.vocabulary.size=400",
    "--config.training.log_every=2",
    "--config.training.evaluate_every=4",
    "--config.training.checkpoint_every=2",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "toy"
    return command("train", f"--run={folder}", "--config.training.steps=4", *TINY_RUN), folder


def test_train_without_data_learns_the_toy_grammar(trained):
    result, folder = trained
    assert result.returncode == 0, result.stderr
    assert "step 4/4  loss" in result.stderr and "held out:  loss" in result.stderr
    assert "the mean of the checkpoints of steps 2, 4" in result.stdout
    assert "BLEU " in result.stdout and "tok:13a" in result.stdout
    assert "Next:\n  t2t-translate" in result.stdout
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {
        *("config.json", "vocabulary", "checkpoints", "logs", "metrics.jsonl"),
        *("averaged.weights.h5", "export"),
    }
    assert f"{folder / 'export' / '1'}: a SavedModel, text in and text out" in result.stdout
    assert export_in(folder / "export") == folder / "export" / "1"


def test_train_goes_on_and_refuses_another_model(trained):
    _, folder = trained
    other = command("train", f"--run={folder}", "--config.model.d_ff=32", *TINY_RUN[:2])
    assert other.returncode == 2
    assert "was begun with model.d_model=16, and not" in other.stderr or "d_ff" in other.stderr
    more = ["--config.training.steps=6", *TINY_RUN, "--noexport"]
    longer = command("train", f"--run={folder}", *more)
    assert longer.returncode == 0, longer.stderr
    assert "step 6/6" in longer.stderr and "step 2/" not in longer.stderr


def test_average_takes_the_last_checkpoints(trained):
    _, folder = trained
    result = command("average", folder, "--last=2")
    assert result.returncode == 0, result.stderr
    assert "averaged.weights.h5: steps " in result.stdout
    too_many = command("average", folder, "--last=50")
    assert too_many.returncode == 2 and "Average fewer" in too_many.stderr


UGLY = [
    "The dog sleeps.",
    "",
    "   ",
    "\u00e9\U0001f600\u4e2d",
    "a\0b",
    "dog " * 300,
    "The cat sleeps.",
]


def test_translate_answers_every_line_whatever_it_is(trained, tmp_path):
    _, folder = trained
    (tmp_path / "in").write_bytes(
        "\n".join(UGLY).encode() + b"\n\xff\xfe\xc3(\r\nlast without an end"
    )
    options = ["--extra_length=3", f"--input={tmp_path / 'in'}"]
    result = command("translate", folder, *options, f"--output={tmp_path / 'out'}")
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "out").read_text().split("\n")
    assert len(lines) == len(UGLY) + 2 + 1 and lines[-1] == ""
    assert lines[1] == lines[2] == ""
    few = command("translate", folder, *options, "--lines=2")
    assert few.stdout.split("\n") == lines, "the same, however many lines are read at a time"


def test_translate_gives_several_with_scores_and_json(trained):
    _, folder = trained
    text = "The dog sleeps.\n\nThe cat sleeps.\n"
    several = command("translate", folder, "--n_best=2", "--scores", "--extra_length=5", stdin=text)
    assert several.returncode == 0, several.stderr
    lines = several.stdout.splitlines()
    assert len(lines) == 6
    scores = [float(line.split("\t")[0]) for line in (*lines[:2], *lines[4:])]
    assert scores[0] >= scores[1] and scores[2] >= scores[3]
    one = command("translate", folder, "--json", "--extra_length=5", stdin=text)
    objects = [json.loads(line) for line in one.stdout.splitlines()]
    assert [each["source"] for each in objects] == text.split("\n")[:3]
    assert objects[0]["translations"][0]["text"] == lines[0].split("\t")[1]


def test_translate_takes_the_weights_that_are_asked_for(trained, tmp_path):
    _, folder = trained
    for weights in ("averaged", "newest", "best", "4"):
        result = command("translate", folder, f"--weights={weights}", "--beam=1", stdin="A dog.\n")
        assert result.returncode == 0, result.stderr
    wrong = command("translate", folder, "--weights=oldest", stdin="A dog.\n")
    assert wrong.returncode == 2 and "has no weights 'oldest'. It has: 2, 4" in wrong.stderr
    nothing = command("translate", tmp_path, stdin="A dog.\n")
    assert nothing.returncode == 2 and "is no run" in nothing.stderr
    wide = command("translate", folder, "--n_best=9", stdin="A dog.\n")
    assert wide.returncode == 2 and "`n_best` must be at most" in wide.stderr


def test_translate_says_which_words_go_together(trained):
    _, folder = trained
    text = "The dog sleeps.\n\n"
    result = command("translate", folder, "--alignments", "--extra_length=5", stdin=text)
    assert result.returncode == 0, result.stderr
    translation, pairs = result.stdout.split("\n")[0].split("\t")
    assert result.stdout.split("\n")[1] == "\t"
    pairs = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
    assert sorted(here for _, here in pairs) == list(range(len(translation.split())))
    assert {there for there, _ in pairs} <= {0, 1, 2}
    as_json = command("translate", folder, "--alignments", "--json", "--extra_length=5", stdin=text)
    first = json.loads(as_json.stdout.splitlines()[0])["translations"][0]
    assert [tuple(pair) for pair in first["alignment"]] == pairs


def test_translate_is_told_how_to_begin_and_what_not_to_write(trained, tmp_path):
    _, folder = trained
    text, options = "The dog sleeps.\nThe cat sleeps.\n", ["--extra_length=5"]
    begun = command("translate", folder, *options, "--prefix=Der Hund", stdin=text)
    assert all(line.startswith("Der Hund") for line in begun.stdout.splitlines()), begun.stderr
    (tmp_path / "prefixes").write_text("Eine Katze\n\n")
    each = command("translate", folder, *options, f"--prefixes={tmp_path / 'prefixes'}", stdin=text)
    assert each.stdout.startswith("Eine Katze")
    (tmp_path / "prefixes").write_text("Eine Katze\n")
    few = command("translate", folder, *options, f"--prefixes={tmp_path / 'prefixes'}", stdin=text)
    assert few.returncode == 2 and "1 lines, and 2 or more" in few.stderr
    first = command("translate", folder, *options, "--first= Der", stdin=text)
    assert all(line.startswith("Der") for line in first.stdout.splitlines()), first.stderr
    wrong = command("translate", folder, "--banned=Derr", stdin=text)
    assert wrong.returncode == 2 and "--banned=Derr: the vocabulary has no such" in wrong.stderr


def test_translate_draws_the_same_samples_again(trained):
    _, folder = trained
    text, options = "The dog sleeps.\n" * 3, ["--sample", "--extra_length=5", "--seed=1"]
    result = command("translate", folder, *options, stdin=text)
    again = command("translate", folder, *options, "--lines=2", stdin=text)
    assert result.returncode == 0 and result.stdout == again.stdout
    assert len(set(result.stdout.splitlines())) > 1, "a line's sample depends on its number"
    forgotten = command("translate", folder, "--top_p=0.9", stdin=text)
    assert forgotten.returncode == 2 and "--top_p is for sampling" in forgotten.stderr


def test_translate_takes_an_ensemble_of_one_vocabulary(trained, tmp_path):
    _, folder = trained
    text = "The dog sleeps.\n"
    one = command("translate", folder, "--scores", "--extra_length=5", stdin=text)
    two = command("translate", folder, folder, "--scores", "--extra_length=5", stdin=text)
    assert two.returncode == 0, two.stderr
    assert two.stdout.split("\t")[1] == one.stdout.split("\t")[1]
    shutil.copytree(folder, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    wrong = command("translate", folder, tmp_path / "other", stdin=text)
    assert wrong.returncode == 2 and "has another vocabulary than" in wrong.stderr


def test_evaluate_scores_files_and_runs(trained, tmp_path):
    _, folder = trained
    sources, references = zip(*pairs(40, "test"), strict=True)
    worse = [line.replace("d", "t") for line in references]
    for name, lines in (("source", sources), ("reference", references), ("worse", worse)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    reference = f"--reference={tmp_path / 'reference'}"
    result = command(
        *("evaluate", f"--hypotheses={tmp_path / 'reference'}", reference),
        *(f"--against={tmp_path / 'worse'}", "--paper_bleu=de"),
    )
    assert result.returncode == 0, result.stderr
    assert "BLEU         100.00" in result.stdout and "tok:13a" in result.stdout
    assert "p = 0.00" in result.stdout and "paper's BLEU 100.00" in result.stdout
    output = tmp_path / "out"
    result = command(
        *("evaluate", folder, f"--source={tmp_path / 'source'}", reference),
        *("--beam=1", "--extra_length=3", f"--output={output}"),
    )
    assert result.returncode == 0, result.stderr
    assert "chrF" in result.stdout and " 40 lines" in result.stdout
    assert len(output.read_text().splitlines()) == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run (several: an ensemble) with --source, or --hypotheses"),
        (["--hypotheses={0}/one"], "needs --reference"),
        (
            ["--hypotheses={0}/one", "--reference={0}/two"],
            "same number of lines. Received: 1 and 2",
        ),
        (["{1}", "--reference={0}/two"], "for a run --source too"),
        (["{1}", "--source={0}/one", "--reference={0}/two"], "same number of lines"),
        (["{1}", "--source={0}/none", "--reference={0}/two"], "No such file"),
    ],
)
def test_evaluate_refuses_what_does_not_go_together(trained, tmp_path, arguments, message):
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "two").write_text("a\nb\n")
    result = command("evaluate", *(each.format(tmp_path, trained[1]) for each in arguments))
    assert result.returncode == 2 and message in result.stderr, result.stderr


def test_translate_does_not_write_over_what_it_reads(trained, tmp_path):
    (tmp_path / "text").write_text("The dog sleeps.\n")
    same = [f"--input={tmp_path / 'text'}", f"--output={tmp_path / 'text'}"]
    result = command("translate", trained[1], *same)
    assert result.returncode == 2 and "are the same file" in result.stderr
    assert (tmp_path / "text").read_text() == "The dog sleeps.\n"


def test_train_from_prepared_data_with_a_test_set(prepared, corpus, tmp_path):
    result = command(
        *("train", "--noexport", "--config=base", f"--data={prepared[1]}"),
        f"--run={tmp_path / 'run'}",
        *(f"--dev_source={corpus}/train.en", f"--dev_target={corpus}/train.de"),
        *("--config.data.dev_pairs=20", "--config.training.steps=2", "--config.model.d_model=16"),
        *("--config.model.d_ff=16", "--config.model.num_layers=1"),
        *("--config.data.batches.max_length=64", "--config.data.batches.tokens=512"),
    )
    assert result.returncode == 0, result.stderr
    assert "held out:  loss" in result.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("train", ["x"], "takes flags only"),
        ("train", ["--data=nowhere", "--run={0}/x"], "nowhere holds no finished data"),
        ("train", ["--run={0}"], "is no run, and has other things in it"),
        ("train", ["--config.training.steps=0", "--run={0}/x"], "`steps` must be a whole number"),
        ("train", ["--dev_source=x", "--run={0}/x"], "`dev_source` and `dev_target` go together"),
        ("average", [], "takes one run's folder"),
        ("average", ["{0}"], "is no run: it has no config.json"),
    ],
)
def test_training_names_what_is_wrong(tmp_path, name, arguments, message):
    (tmp_path / "thesis.tex").write_text("years of work")
    result = command(name, *(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_run_in_use_is_refused(trained):
    import fcntl

    with (trained[1] / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = command("train", f"--run={trained[1]}", *TINY_RUN)
    assert result.returncode == 2
    assert "is in use by process" in result.stderr


def test_an_interrupted_command_says_how_to_go_on(tmp_path):
    """As pressing Ctrl-C does it, while text is awaited."""
    result = command(
        *("prepare", "--pairs=-", f"--output={tmp_path}/data"), interrupt_after=3, stdin=None
    )
    assert result.returncode == 130
    assert "prepare.py: interrupted. The same command goes on from here" in result.stderr
    assert "Traceback" not in result.stderr


def test_benchmark_times_batches(prepared):
    result = command("benchmark", "data", f"--data={prepared[1]}", "--rounds=1", "--steps=3")
    assert result.returncode == 0, result.stderr
    title, speed, first, late = result.stdout.splitlines()
    assert "pairs, medians of 1 rounds" in title
    assert "real tokens a second" in speed and "step 0" in first and "step 100,000" in late
