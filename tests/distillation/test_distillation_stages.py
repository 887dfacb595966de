"""A distillation from the texts to the report: its stages, kills, and what is refused."""

import contextlib
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.processes.commands import TINY_RUN, command
from support.runs.finished_run import weights_of
from support.runs.reproduced import started_stages, write_lines
from support.runs.untrained import tiny_experiment

from pipelines.atomic_files import read_json, write_json
from pipelines.toy.grammar import pairs
from t2t_keras.distillation import distill, distillation_stages, inputs
from t2t_keras.runs import Run
from t2t_keras.stages import stages
from t2t_keras.stages.stages import StageFailed


class Ended:
    """The process of a stage that has ended with a code."""

    def __init__(self, code=0):
        self.code = code

    def wait(self, timeout):
        return self.code


class Stages:
    """Writes files that look as if the stages had run.

    Args:
        run: the folder that becomes a trained run.
        vocabulary: the folder that becomes a learned vocabulary.

    Attributes:
        started: list of (command, {flag: value}, positional arguments).
        failing: the command that fails, or None.
    """

    def __init__(self, run, vocabulary):
        self.run, self.vocabulary, self.started, self.failing = run, vocabulary, [], None

    def start(self, command, arguments, log):
        flags = dict(each.lstrip("-").split("=", 1) for each in arguments if "=" in each)
        words = [each for each in arguments if not each.startswith("--")]
        self.started.append((command, flags, words))
        log.write(f"{command} says so\n".encode())
        if command == self.failing:
            return Ended(2)
        getattr(self, command)(flags)
        return Ended()

    def translate(self, flags):
        with open(flags["input"]) as lines, open(flags["output"], "w") as output:
            for line in lines:
                output.writelines(f"{i} {line}" for i in range(int(flags.get("n_best", 1))))

    def score(self, flags):
        with open(flags["pairs"]) as lines, open(flags["output"], "w") as output:
            output.writelines("-6\t4.5\t4\n" for _ in lines)

    def prepare(self, flags):
        folder = Path(flags["output"])
        shutil.copytree(flags.get("vocabulary", self.vocabulary), folder / "vocabulary")
        report = {"counts": {"read": 1, "kept": 1}, "vocabulary": {"size": 400}}
        write_json(folder / "report.json", report)

    def train(self, flags):
        shutil.copytree(self.run, flags["run"], dirs_exist_ok=True)

    def commands(self):
        """Returns the commands since the last call."""
        found, self.started = [command for command, _, _ in self.started], []
        return found


@pytest.fixture
def faked(monkeypatch, run, vocabulary):
    """`Stages` in place of the commands. There is nothing to export or to compare."""
    found = Stages(run.folder, vocabulary)
    monkeypatch.setattr(stages, "start_command", found.start)
    monkeypatch.setattr(distillation_stages, "export", lambda plan: None)
    monkeypatch.setattr(distillation_stages, "write_report", lambda plan, data: data)
    return found


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
    names = ["translate", "translate", "score", "prepare", "prepare", "train"]
    assert [command for command, _, _ in faked.started] == names
    real, mono, score, prepared, real_data, train = (flags for _, flags, _ in faked.started)
    assert (real["n_best"], real["beam"], real["split"]) == ("5", "5", "off")
    assert "n_best" not in mono and "beam" not in mono and faked.started[1][2] == [str(run.folder)]
    assert (texts / "texts" / "mono.txt").read_text() == "A new line.\n"
    source = (texts / "texts" / "real.txt").read_text().split("\n")[0]
    first, *_, last = (texts / "filtered" / "pairs.tsv").read_text().split("\n")[:-1]
    assert first == f"{source}\t0 {source}" and last == "A new line.\t0 A new line."
    assert score["pairs"] == str(texts / "filtered" / "reverse.tsv")
    assert not (texts / "filtered" / "reverse.tsv").exists(), "only the scores are kept"
    assert faked.started[2][2] == [str(reverse)]
    assert prepared["scores"] == str(texts / "filtered" / "scores.txt")
    assert set(Path(prepared["scores"]).read_text().split()) == {"-1.500000"}
    assert (prepared["best"], prepared["languages"]) == ("0.9", "en,de")
    assert prepared["config.data.vocabulary.size"] == "400" and "vocabulary" not in prepared
    assert real_data["vocabulary"] == str(texts / "data" / "vocabulary")
    assert real_data["target"] == str(texts / "texts" / "real_target.txt")
    assert train["data"] == data == f"{texts / 'data'}:0.75,{texts / 'real_data'}:0.25"


def test_changed_settings_repeat_only_the_stages_that_depend_on_them(
    faked, run, toy_data, tmp_path
):
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
    with pytest.raises(ValueError, match=r"student was trained on.*give a different --texts"):
        distill(run.folder, **second)
    distill(run.folder, **second, ratio=3)
    assert faked.commands() == ["train"]


def test_stages_do_not_depend_on_the_paths_of_their_files(
    faked, run, toy_data, tmp_path, monkeypatch
):
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


def test_students_of_different_sizes_share_texts(faked, run, toy_data, tmp_path):
    """The configs' sizes of a vocabulary have no effect, because --vocabulary determines it."""
    for size, commands in ((8000, ["translate", "prepare", "train"]), (32000, ["train"])):
        experiment = tiny_experiment()
        experiment.data.vocabulary.size = size
        texts = {"data": toy_data[1], "texts": tmp_path / "texts"}
        distill(run.folder, experiment, tmp_path / f"student{size}", **texts)
        assert faked.commands() == commands


def test_bad_input_is_refused_before_the_work(faked, run, toy_data, tmp_path):
    data, tagged = toy_data[1], tmp_path.parent / f"{tmp_path.name}-tagged"
    shutil.copytree(data, tagged)
    preparation = read_json(tagged / "preparation.json")
    write_json(tagged / "preparation.json", preparation | {"tag": "<2de>"})
    cases = [
        ({"data": tmp_path}, "--data must be a folder with finished data"),
        ({"teachers": tmp_path}, "TEACHER must be a run or an export"),
        ({"reverse": tmp_path}, "--reverse must be a run or an export"),
        ({"texts": data / "texts"}, "--texts must be a folder outside of --data"),
        ({"texts": tmp_path / "student" / "t"}, "--texts must be a folder outside of --run"),
        (
            {"texts": run.folder / "texts"},
            "--texts must be a folder outside of runs",
        ),
        ({"texts": tagged.parent}, "must be a new folder, .* it would lose other files"),
        (
            {"texts": data.parent, "data": data},
            "files in .*/data are made again .* Received: .*data",
        ),
        ({"data": tagged}, "has a tag before each source, but .*has no tag '<2de>'"),
        ({"folder": run.folder}, "a run that t2t-distill has not begun"),
        ({"folder": data}, "is not a run: it has no config.json, but other files"),
    ]
    for changes, message in cases:
        given = {"teachers": run.folder, "folder": tmp_path / "student", "data": data} | changes
        with pytest.raises(ValueError, match=message):
            distill(experiment=tiny_experiment(), **given)
    assert not faked.started and not list(tmp_path.iterdir())


def test_files_in_the_folder_of_the_texts_are_never_deleted(faked, run, toy_data, tmp_path):
    """The prepared data is in `data` there, a likely name of a user's folder."""
    (tmp_path / "texts" / "data").mkdir(parents=True)
    mine = write_lines(tmp_path / "texts" / "data" / "mine.txt", ["Precious."])
    given = {"experiment": tiny_experiment(), "data": toy_data[1], "texts": tmp_path / "texts"}
    for contents, message in (
        (None, "it would lose other files"),
        ("{}", "it would lose other files"),
        ("[]", "is damaged .* if t2t-distill has written it, or give a different folder"),
    ):
        if contents:
            (tmp_path / "texts" / "settings.json").write_text(contents)
        with pytest.raises(ValueError, match=message):
            distill(run.folder, folder=tmp_path / "student", **given)
        assert mine.read_text() == "Precious.\n" and not faked.started
    shutil.rmtree(tmp_path / "texts")
    mine = tmp_path / "other" / "distillation" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(ValueError, match=r"it would lose other files\. Received: --run=.*other"):
        distill(run.folder, folder=tmp_path / "other", **given | {"texts": None})
    for student in ("student", "second"):
        distill(run.folder, folder=tmp_path / student, **given)
    for record in ("students.json", "settings.json"):
        (tmp_path / "texts" / record).unlink()
    distill(run.folder, folder=tmp_path / "third", **given)
    assert faked.commands() == ["translate", "prepare", *["train"] * 3], "they are still known"


def test_no_input_may_be_where_a_stage_writes(faked, run, toy_data, tmp_path):
    texts = tmp_path / "texts"
    (texts / "data").mkdir(parents=True)
    shutil.copytree(run.folder, texts / "data" / "teacher")
    file = write_lines(texts / "data" / "lines.txt", ["A line."])
    given = {"teachers": run.folder, "data": toy_data[1], "texts": texts}
    for changes in (
        {"teachers": texts / "data" / "teacher"},
        {"reverse": texts / "data" / "teacher"},
        {"mono": file},
        {"dev_source": file, "dev_target": file},
        {"test": f"mine={file},{file}"},
    ):
        with pytest.raises(ValueError, match="are made again when the texts change"):
            distill(experiment=tiny_experiment(), folder=tmp_path / "s", **given | changes)
    assert not faked.started


def test_an_edited_plug_in_that_cleans_does_not_change_the_texts_of_a_student(
    faked, run, toy_data, tmp_path, monkeypatch
):
    rules, used = write_lines(tmp_path / "mine.py", ["first"]), []
    monkeypatch.setattr(inputs, "plugins_with", lambda entries: used)

    def distilled(student):
        distill(
            *(run.folder, tiny_experiment(), tmp_path / student),
            **{"data": toy_data[1], "texts": tmp_path / "texts"},
        )
        return faked.commands()

    used.append(SimpleNamespace(path=str(rules)))
    assert distilled("student") == ["translate", "prepare", "train"]
    assert distilled("second") == ["train"]
    write_lines(rules, ["edited"])
    with pytest.raises(ValueError, match=r"student was trained on.* Changed: plug-ins that clean"):
        distilled("third")


@pytest.mark.parametrize("is_full", [False, True])
def test_a_student_that_litert_cannot_compute_is_compared_on_tensorflow(
    run, tmp_path, monkeypatch, capsys, is_full
):
    reason = "No space left on device" if is_full else "this MoE cannot be exported for LiteRT: …"

    def refuse(*_):
        raise StageFailed(reason, 2)

    monkeypatch.setattr(stages.Stages, "run_logged", refuse)
    plan = SimpleNamespace(folder=tmp_path / "distillation", run=str(run.folder))
    with pytest.raises(StageFailed) if is_full else contextlib.nullcontext():
        distillation_stages.export(plan)
    printed = capsys.readouterr().err
    assert is_full or "the student has no LiteRT in int8: this MoE cannot" in printed


@pytest.mark.long
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

    stopped = student("stopped", at_stage={"2": "SIGINT"})
    assert stopped.returncode == 130, stopped.stderr
    assert "distill.py: interrupted. Run the same command to resume" in stopped.stderr
    resumed = student("stopped", at_stage={})
    assert resumed.returncode == 0, resumed.stderr
    student("whole", at_stage={"3": "SIGINT"})  # ends after the training, before the exports
    expected = ["train", "export-float32", "export-int8"]
    assert started_stages(resumed.stderr) == [f"distillation: {stage}" for stage in expected]
    for name in ("texts/real.txt", "translated/real.txt", "filtered/pairs.tsv"):
        one, other = (tmp_path / run / "distillation" / name for run in ("stopped", "whole"))
        assert one.read_bytes() == other.read_bytes() != b""
    one, other = (weights_of(Run(tmp_path / run), None) for run in ("stopped", "whole"))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert f"trained on {tmp_path}/stopped/distillation/data:0.5" in resumed.stdout
    assert "translations: " in resumed.stdout and "to step 8; weights" in resumed.stdout
    assert (tmp_path / "stopped" / "distillation" / "report.md").read_text() == resumed.stdout
