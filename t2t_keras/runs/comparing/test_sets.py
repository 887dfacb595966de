"""The runs and the texts to compare them on, and the translations, which are kept in files."""

import re
from pathlib import Path

from pipelines.atomic_files import json_digest, read_json, write_text
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.evaluation import translate_all
from t2t_keras.runs.reporting.report import name_of
from t2t_keras.runs.run import Run
from t2t_keras.runs.text_files import read_lines, read_set
from t2t_keras.runs.training.held_out_sets import held_out_texts, tags_of_sets
from t2t_keras.stages.stages import Stages
from t2t_keras.translating.sentences import on_one_line

SWEEP = "sweep.json"  # file in the folder of a sweep
HELD_OUT = "held-out"  # name of a held-out set without a name


def runs_in(folders, trust=False):
    """Returns {name: `Run`} for folders of runs and of sweeps, without duplicates."""
    found = {}
    for folder in map(Path, folders):
        stages = read_json(folder / "stages.json", {}) if (folder / SWEEP).exists() else {}
        trained = [folder / name for name in stages if (folder / name / "config.json").exists()]
        for each in trained or [folder]:
            found.setdefault(each.resolve(), Run(each, trust=trust))
    for run in found.values():  # raises a clear error if one is not a run, or has no weights
        run.experiment()
        run.default_weights()
    names = list(map(name_of, found))
    if len({*names}) < len(names):
        names = [str(run.folder) for run in found.values()]
    return dict(zip(names, found.values(), strict=True))


def test_sets(runs, tests=None):
    """Returns {name: (sources, references)} of test sets, or of the held-out text of the runs."""
    if tests:
        return {name: read_set(name, *files) for name, files in tests.items()}
    texts = {}
    for name, run in runs.items():
        is_imported = read_config(run.config_file).get("imported")
        texts[name] = {} if is_imported else held_out_texts(run.experiment())
        if not texts[name] or texts[name] != next(iter(texts.values())):
            raise ValueError(
                "Runs without the same held-out text need a test set: --source and --reference. "
                f"Received: {', '.join(texts)}"
            )
    sets = next(iter(texts.values())).items()
    return {name or HELD_OUT: tuple(zip(*pairs, strict=True)) for name, pairs in sets}


def translated(name, run, test, sources, to, folder):
    """Returns the translations of a test set by the run with a name, translating it only once.

    `to` is the tag of the translations. None: the tag of the run's held-out set.
    """
    tag = to or tags_of_sets(run.experiment(), run.tags()).get(test)
    stage = re.sub(r"[^\w.=+-]+", "_", f"{name}-{test}")
    path = folder / "translations" / f"{stage}.txt"

    def translate():
        # The same engine for all runs, whether or not they have exports.
        translator = Run(run.folder, tag).translator(engine="tensorflow")
        lines = translate_all(translator, list(sources))
        path.parent.mkdir(exist_ok=True)
        write_text(path, "".join(f"{on_one_line(line)}\n" for line in lines))

    Stages(folder, "comparison").call_once(
        stage=stage,
        function=translate,
        creates=path,
        depends_on=[run.translations_digest(), tag, json_digest(list(sources))],
    )
    return read_lines(path)
