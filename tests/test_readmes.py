"""The READMEs: links lead somewhere, and every Python block runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes.commands import ROOT, script

from pipelines.toy.grammar import pairs
from t2t_keras.runs.settings_file import read_settings, write_settings

READMES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Their blocks train or export for many seconds.
SLOW_PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "t2t_keras/README.md",
        "t2t_keras/export/README.md",
        "t2t_keras/layers/how_to_train_a_language_model.md",
        "t2t_keras/runs/README.md",
        "t2t_keras/training/how_to_change_the_loss_or_optimizer.md",
        "t2t_keras/training/README.md",
        "t2t_keras/translating/README.md",
    )
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)

# Makes every experiment small and its training short.
START = """
from t2t_keras import experiment as module

def small(load_experiment):
    def load(name):
        experiment = load_experiment("quickstart")
        model, data, search = experiment.model, experiment.data, experiment.search
        model.num_layers, model.d_model, model.d_ff, model.num_heads = 1, 16, 16, 2
        data.toy_pairs, data.vocabulary.size, data.dev_pairs = 300, 400, 20
        search.beam = search.extra_length = 1
        return experiment
    return load

module.load_experiment = small(module.load_experiment)
"""


def anchors(text):
    """Returns the anchors of the headings of a Markdown text, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_dead(link, path):
    """Whether a link of a page leads to no file of the project, or to no heading of it."""
    name, _, anchor = link.partition("#")
    target = (path.parent / name) if name else path
    if "://" in link:
        return False
    return not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8")))


def test_relative_links_lead_somewhere():
    links = [(link, path) for path in READMES for link in LINK.findall(path.read_text("utf-8"))]
    assert not [(path.name, link) for link, path in links if is_dead(link, path)]


def test_every_page_is_reached_from_the_page_of_tasks():
    seen, next_pages = set(), [ROOT / "t2t_keras" / "TASKS.md"]
    while next_pages:
        page = next_pages.pop()
        if page not in seen:
            seen.add(page)
            links = (link.partition("#")[0] for link in LINK.findall(page.read_text("utf-8")))
            targets = ((page.parent / link).resolve() for link in links if link)
            next_pages += [target for target in targets if target in READMES]
    assert not set(READMES) - seen


def test_the_long_description_has_no_relative_links():
    source = (ROOT / "setup.py").read_text(encoding="utf-8").partition("\nsetup(")[0]
    names = {"__file__": str(ROOT / "setup.py")}
    exec(compile(source, "setup.py", "exec"), names)
    text = names["long_description"]()
    assert not [link for link in LINK.findall(text) if "://" not in link]
    assert "[configs]" not in text and "see configs" in text


@pytest.fixture(scope="module")
def workplace(toy_run, toy_data, tmp_path_factory):
    """A folder with the files that the READMEs name: a run, prepared data, texts."""
    folder = tmp_path_factory.mktemp("readmes")
    for name in ("mine", "quickstart", "multi30k"):
        shutil.copytree(toy_run[1], folder / "runs" / name)
        config = folder / "runs" / name / "config.json"
        experiment = read_settings(config)
        experiment.search.extra_length = 2  # an untrained model never stops early
        write_settings(config, experiment)
    shutil.copytree(toy_data[1], folder / "data" / "mine")
    for name in ("train", "dev", "test"):
        sources, references = zip(*pairs(400), strict=True)
        (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in sources))
        (folder / f"{name}.de").write_text("".join(f"{line}\n" for line in references))
    return folder


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.nightly if path in SLOW_PAGES else pytest.mark.long)
        for path in READMES
        if BLOCK.search(path.read_text(encoding="utf-8"))
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_blocks_run(path, workplace, tmp_path, request):
    """In order, in one process per README; training is made short."""
    code = START + "\n".join(BLOCK.findall(path.read_text(encoding="utf-8")))
    for run, name in re.findall(r"(runs/\w+)/(export\w*)", code):
        _, exported = request.getfixturevalue("exported_toy_run")
        if (exported / name).exists():
            shutil.copytree(exported / name, workplace / run / name, dirs_exist_ok=True)
    code = re.sub(r"\bepochs=\d+", "epochs=1", code)
    code = re.sub(r"training\.steps = [\d_]+", "training.steps = 4", code)
    code = code.replace("vocabulary.size = 4_000", "vocabulary.size = 400")
    code = code.replace('"runs/toy")', '"runs/toy", export=False)')
    (tmp_path / "blocks.py").write_text(code, encoding="utf-8")
    result = script(tmp_path / "blocks.py", cwd=workplace)
    assert result.returncode == 0, result.stderr[-3000:]


def commands_in(text):
    """Yields the words of each t2t- command in the shell blocks of a Markdown text."""
    blocks = re.findall(
        r"^(?: {4}.*\n)+|^```(?:sh|bash|shell|console)?\n.*?^```", text, re.M | re.S
    )
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            line = re.split(r"\s# |[|<>;&]", line.strip().removeprefix("$ "))[0]
            if found := re.match(r"(?:[A-Z_0-9]+=\S+ )*(?:\S*/)?(t2t-[a-z]+)\b(.*)", line):
                yield found[1], re.split(r"\s+", found[2].replace("'", "").replace('"', "").strip())


RUNNABLE = re.compile(r"^<!-- runnable -->\n\n((?: {4}.*\n)+)", re.M)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("path", "block"),
    [(path, block) for path in READMES for block in RUNNABLE.findall(path.read_text("utf-8"))],
    ids=lambda value: str(value.relative_to(ROOT)) if isinstance(value, Path) else "",
)
def test_runnable_shell_blocks_run(path, block, workplace, tmp_path):
    """Each command is the module of the checkout, in a folder with the files that it names."""
    for name in {command for command, _ in commands_in(block)}:
        command = name.removeprefix("t2t-")
        program = f'#!/bin/sh\nexec "{sys.executable}" -m t2t_keras.cli {command} "$@"\n'
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    for name in ("test.out", "other.out"):
        shutil.copy(workplace / "test.de", workplace / name)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    subprocess.run(["sh", "-euc", block], cwd=workplace, env=environment, check=True)


def flags_of_commands():
    """Returns {command: its flags, and the flags that all commands have}."""
    page = (ROOT / "t2t_keras/cli/FLAGS.md").read_text("utf-8")
    sections = re.split(r"^## ", page, flags=re.M)[1:]
    common = {"help", "verbosity", "config"}
    return {
        section.split("\n")[0]: set(re.findall(r"^\| `--(\w+)`", section, re.M)) | common
        for section in sections
    }


def names_in_shell_blocks():
    """Yields the page, the command, and the name and value of each flag in the shell blocks."""
    for path in READMES:
        for command, words in commands_in(path.read_text("utf-8")):
            flags = [re.match(r"--([\w.]+)(?:=(.*))?", word.strip("[]()")) for word in words]
            for name, value in [flag.groups() for flag in flags if flag] or [("help", None)]:
                yield path.name, command, name, value or ""


def test_commands_in_shell_blocks_have_such_flags_settings_and_configs():
    settings = (ROOT / "configs/SETTINGS.md").read_text("utf-8")
    settings = set(re.findall(r"^\| `([\w.]+)`", settings, re.M))
    configs = {path.stem for path in (ROOT / "configs").glob("*.py")}
    known, found = flags_of_commands(), list(names_in_shell_blocks())
    assert len(found) > 100
    for page, command, name, value in found:
        if name.startswith("config."):
            assert name.removeprefix("config.") in settings, (page, command, name)
        else:
            assert {name, name.removeprefix("no")} & known[command], (page, command, name)
        config = value.partition(":")[0]
        if name == "config" and config.isidentifier() and config.islower():
            assert config in configs, (page, command, value)
