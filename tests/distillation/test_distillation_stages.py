"""A distillation from the texts to the report: its stages and kills."""

import contextlib
import shutil
from types import SimpleNamespace

import pytest
from support.processes.commands import TINY_RUN, command
from support.runs.reproduced import started_stages, write_lines
from support.runs.untrained import tiny_experiment

from pipelines.atomic_files import read_json, write_json
from pipelines.exit_codes import NO_SPACE, NOT_CONVERTIBLE
from pipelines.toy.grammar import pairs
from t2t_keras.distillation import distill, distillation_stages
from t2t_keras.runs import Run
from t2t_keras.stages import stages
from t2t_keras.stages.stages import StageFailed

RULES = ("empty", "max_added_repetitions", "max_ratio")


@pytest.fixture(scope="module")
def reverse(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reverse") / "run"
    shutil.copytree(run.folder, folder)
    contents = read_json(folder / "config.json")
    write_json(folder / "config.json", contents | {"languages": contents["languages"][::-1]})
    return folder


def test_each_stage_has_the_files_of_the_one_before(faked, run, reverse, toy_data, tmp_path):
    mono = write_lines(tmp_path / "mono", ["A new line.", "A new line."])
    data = distill(
        run.folder,
        tiny_experiment(),
        tmp_path / "student",
        data=toy_data[1],
        mono=mono,
        choose="reference",
        n_best=5,
        reverse=reverse,
        keep=0.9,
        vocabulary="400",
        real=0.25,
    )
    texts = tmp_path / "student" / "distillation"
    names = ["translate", "translate", "score", "score", "prepare", "prepare", "train"]
    assert [command for command, _, _ in faked.started] == names
    real, mono, score, _, prepared, real_data, train = (flags for _, flags, _ in faked.started)
    assert (real["n_best"], real["beam"], real["split"]) == ("5", "5", "off")
    assert "n_best" not in mono and "beam" not in mono and faked.started[1][2] == [str(run.folder)]
    assert (texts / "texts" / "mono.txt").read_text() == "A new line.\n"
    chosen, other = texts / "chosen" / "real.txt", texts / "translated" / "mono.txt"
    sources = texts / "texts" / "real.txt", texts / "texts" / "mono.txt"
    assert chosen.read_text().startswith(f"0 {sources[0].read_text().splitlines()[0]}\n")
    assert other.read_text() == "0 A new line.\n"
    assert (score["source"], score["target"]) == (str(chosen), str(sources[0]))
    assert faked.started[2][2] == [str(reverse)]
    assert prepared["source"] == ",".join(map(str, sources))
    assert prepared["target"] == f"{chosen},{other}"
    scores = [texts / "scores" / f"{name}.txt" for name in ("real", "mono")]
    assert prepared["scores"] == ",".join(map(str, scores))
    assert {line for file in scores for line in file.read_text().split()} == {"-1.500000"}
    rules = {name: prepared[f"config.data.cleaning.{name}"] for name in RULES}
    assert rules == {"empty": "True", "max_added_repetitions": "2", "max_ratio": "2.5"}
    assert 1 < float(prepared["config.data.cleaning.length_ratio"]) < 1.2, '"0 " is two characters'
    assert (prepared["best"], prepared["languages"]) == ("0.9", "en,de")
    assert prepared["config.data.vocabulary.size"] == "400" and "vocabulary" not in prepared
    assert real_data["vocabulary"] == str(texts / "data" / "vocabulary")
    assert real_data["target"] == str(texts / "texts" / "real_target.txt")
    assert train["data"] == data == f"{texts / 'data'}:0.75,{texts / 'real_data'}:0.25"


def test_changed_settings_repeat_only_stages_that_depend_on_them(faked, run, toy_data, tmp_path):
    def repeated(**changes):
        given = {"data": toy_data[1], "texts": tmp_path / "texts", "mono": mono} | changes
        distill(run.folder, tiny_experiment(), tmp_path / "student", **given)
        return faked.commands()

    mono = write_lines(tmp_path / "mono", ["A new line."])
    faked.failing = "train"
    failed = r"train failed \(exit code 2\): train says so\..*train\.log\. .* to resume"
    with pytest.raises(ValueError, match=failed):
        repeated()
    assert faked.commands() == ["translate", "translate", "prepare", "train"]
    write_lines(mono, ["Another line."])
    with pytest.raises(ValueError, match=failed):
        repeated()
    assert [flags["input"] for name, flags, _ in faked.started if name == "translate"] == [
        str(tmp_path / "texts" / "texts" / "mono.txt")
    ]
    assert faked.commands() == ["translate", "prepare", "train"]
    faked.failing = None
    assert repeated(ratio=3) == ["prepare", "train"]
    assert repeated(ratio=3) == []
    with pytest.raises(ValueError, match=r"student was begun .* --ratio \(was 3, is 4\)"):
        repeated(ratio=4)
    with pytest.raises(ValueError, match=r"begun .* --real \(was 0.0, is 0.5\)"):
        repeated(ratio=3, real=0.5)
    second = {"experiment": tiny_experiment(), "folder": tmp_path / "second", "mono": mono}
    second |= {"data": toy_data[1], "texts": tmp_path / "texts"}
    with pytest.raises(ValueError, match=r"student was begun .*give a different --texts"):
        distill(run.folder, **second)
    distill(run.folder, **second, ratio=3)
    assert faked.commands() == ["train"]


def test_stages_do_not_depend_on_paths_of_their_files(faked, run, toy_data, tmp_path, monkeypatch):
    """Another working directory or a moved folder translates nothing again."""

    def distilled(teacher, folder, **changes):
        given = {"experiment": tiny_experiment(), "data": toy_data[1], "vocabulary": "400"}
        distill(teacher, folder=folder, **given | {"real": 0.5, "reverse": other} | changes)
        return faked.commands()

    teacher, other = tmp_path / "teacher", tmp_path / "other"
    for folder in (teacher, other):
        shutil.copytree(run.folder, folder)
    write_json(other / "config.json", read_json(other / "config.json") | {"languages": None})
    commands = ["translate", "score", "prepare", "prepare", "train"]
    assert distilled(teacher, tmp_path / "student") == commands
    monkeypatch.chdir(tmp_path)
    assert distilled("teacher/", "student") == []
    shutil.move(tmp_path / "teacher", tmp_path / "moved")
    shutil.move(tmp_path / "student", tmp_path / "small")
    assert distilled("../" + tmp_path.name + "/moved", tmp_path / "small") == []


@pytest.mark.parametrize("is_full", [False, True])
def test_a_student_that_litert_cannot_compute_is_compared_on_tensorflow(
    run, tmp_path, monkeypatch, capsys, is_full
):
    reason = "No space left on device" if is_full else "this MoE cannot be exported for LiteRT: …"

    def refuse(*_):
        raise StageFailed(reason, NO_SPACE if is_full else NOT_CONVERTIBLE)

    monkeypatch.setattr(stages.Stages, "run_logged", refuse)
    plan = SimpleNamespace(folder=tmp_path / "distillation", run=str(run.folder))
    with pytest.raises(StageFailed) if is_full else contextlib.nullcontext():
        distillation_stages.export(plan)
    printed = capsys.readouterr().err
    assert is_full or "the student has no LiteRT in int8: this MoE cannot" in printed


@pytest.mark.nightly
def test_an_interrupted_distillation_ends_with_the_same_texts_and_weights(toy_run, tmp_path):
    texts = dict(zip(("en", "de"), zip(*pairs(150), strict=True), strict=True))
    files = [
        f"--{side}={write_lines(tmp_path / f'train.{language}', texts[language])}"
        for side, language in (("source", "en"), ("target", "de"))
    ]
    vocabulary = f"--vocabulary={toy_run[1]}/vocabulary"
    data = tmp_path / "data"
    assert not command("prepare", *files, vocabulary, f"--output={data}").returncode
    tiny = [flag for flag in TINY_RUN if "toy_pairs" not in flag and "vocabulary" not in flag]
    tiny += ["--config=quickstart", "--config.training.steps=8", "--config.data.batches.tokens=512"]

    def student(name, **options):
        flags = [f"--data={data}", f"--run={tmp_path / name}", "--ratio=0", "--repetitions=0"]
        return command("distill", toy_run[1], *flags, "--real=0.5", *tiny, **options)

    stopped = student("stopped", at_stage=2)
    assert stopped.returncode == 130, stopped.stderr
    assert "distill.py: interrupted. Run the same command to resume" in stopped.stderr
    resumed = student("stopped", at_stage=-1)
    assert resumed.returncode == 0, resumed.stderr
    student("whole", at_stage=3)  # ends after the training, before the exports
    expected = ["train", "export-float32", "export-int8"]
    assert started_stages(resumed.stderr) == [f"distillation: {stage}" for stage in expected]
    for name in ("texts/real.txt", "translated/real.txt", "data/shard-000000/ids.npy"):
        one, other = (tmp_path / run / "distillation" / name for run in ("stopped", "whole"))
        assert one.read_bytes() == other.read_bytes() != b""
    one, other = (Run(tmp_path / run).model().get_weights() for run in ("stopped", "whole"))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert f"trained on {tmp_path}/stopped/distillation/data:0.5" in resumed.stdout
    assert "translations: " in resumed.stdout and "to step 8; weights" in resumed.stdout
    assert (tmp_path / "stopped" / "distillation" / "report.md").read_text() == resumed.stdout
