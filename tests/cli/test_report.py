"""t2t-report writes a page; tests/runs/test_report.py tests the page itself."""

import pytest
from support.processes.in_process import call, refused


@pytest.fixture(scope="module")
def run(new_run, tmp_path_factory):
    folder = new_run(tmp_path_factory.mktemp("run") / "a <i>toy").folder
    horses = [f"The horse number {line} sleeps.\n" for line in range(16)]
    (folder / "test.en").write_text("".join(horses))
    (folder / "test.de").write_text("Das Pferd schläft.\n" * 16)
    (folder / "short.de").write_text("Das Pferd.\n")
    (folder / "report.html").write_text("An earlier page.\n")
    return folder


@pytest.mark.long
def test_the_page_has_the_test_set_and_the_flags_take_effect(run):
    flags = [f"--source={run}/test.en", f"--reference={run}/test.de"]
    flags += ["--limit=9", "--examples=2", "--beam=1", "--extra_length=3", "--weights=averaged"]
    assert call("report", run, *flags).stdout == f"{run}/report.html\n"
    text = (run / "report.html").read_text(encoding="utf-8")
    assert "test.en, its first 9 lines (weights: averaged; beam 1)" in text
    assert text.count(" sleeps.</bdi>") == 3 * 2, "of the best, middle and worst"


@pytest.mark.long
def test_the_page_is_written_without_a_test_set(run, tmp_path):
    call("report", run, f"--output={tmp_path / 'page.html'}")
    assert "No test set was given" in (tmp_path / "page.html").read_text(encoding="utf-8")


TEST_SET = "{0} --source={0}/test.en --reference={0}/test.de"
MISTAKES = {
    "{0}/none": "is not a run",
    "{0} --source={0}/test.en": "give both or neither",
    "{0} --source={0}/test.en --reference={0}/short.de": "Received: 16 and 1",
    "{0} --limit=0": "limit",
    "{0} --limit=5": "--limit has no effect without --source: leave it out",
    f"{TEST_SET} --output={{0}}/test.de": "--output and --reference are the same file",
    "{0} --source={0}/report.html --reference={0}/test.de": (
        "--output and --source are the same file"
    ),
    "{0} --output={0}": "a folder",
    f"{TEST_SET} --output={{0}}/none/page": "No such file or directory",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(run, line, message):
    assert message in refused("report", line, run)
    assert (run / "test.de").read_text().startswith("Das Pferd")
