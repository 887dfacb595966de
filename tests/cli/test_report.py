"""The report of a run: what stands in it, and that texts stay texts."""

import base64
import html.parser
import json
import re

import pytest
from commands import command
from untrained import toy_tokenizer, untrained_run

from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.visualization.document import element, html_of, table
from t2t_keras.visualization.report import Example, RunFacts, chosen
from t2t_keras.visualization.report_of_training import schedule

SOURCES = ["</script><script>alert(1)</script>", "A dog &amp; a <b>cat</b>.", "", "The {{body}} of"]
SOURCES += [f"The horse number {number} sleeps." for number in range(12)]
EVALUATIONS = [
    {"step": step, "train_loss": 6 / step, "loss": loss, "perplexity": 9.0, "bleu": 2.0 * step}
    | {"tokens": 3_000_000 * step, "seconds": 3700.0 * step, "flops": 1e15, "learning_rate": 1e-4}
    for step, loss in ((1, 5.0), (2, 4.0), (3, 4.5))
]


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: its tags, its texts by tag, the attributes of each."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "a <i>toy"
    vocabulary = folder.parent / "vocabulary"
    untrained_run(folder, vocabulary, toy_tokenizer(vocabulary))
    lines = "".join(json.dumps(each) + "\n" for each in EVALUATIONS)
    (folder / "metrics.jsonl").write_text(lines)
    (folder / "test.en").write_text("".join(f"{line}\n" for line in SOURCES))
    (folder / "test.de").write_text("Das Pferd schläft.\n" * len(SOURCES))
    (folder / "short.de").write_text("Das Pferd.\n")
    return folder


def test_the_report_of_a_run_on_a_test_set(run):
    flags = [f"--source={run}/test.en", f"--reference={run}/test.de"]
    result = command("report", run, *flags, "--beam=1", "--extra_length=3", "--examples=9")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{run}/report.html\n"
    text = (run / "report.html").read_text()
    page = Page(text)
    assert page.texts["h2"] == [
        *("How good it is", "What it translates", "What it looks at", "How it learned"),
        *("The learning rate", "Settings", "Weights", "How it was made"),
    ]
    assert page.texts["h3"][1:] == ["The best", "In the middle", "The worst"]
    assert page.texts["h1"] == ["Report of the run a <i>toy"] == page.texts["title"]
    # Whatever the texts hold, they are texts, and nothing comes from elsewhere.
    assert len(page.all("script")) == 1 and not page.all("b") and not page.all("i")
    shown = page.texts["bdi"]
    assert len(shown) == 3 * 15 and set(shown) & set(SOURCES[:2])
    assert "default-src 'none'" in text
    for image in page.all("img"):
        assert base64.b64decode(image["src"].split(",")[1]).startswith(b"\x89PNG")
    assert not re.search(r"""(href|src)=["'](?!data:)|url\(|@import""", text)
    attention = Page(page.all("iframe")[0]["srcdoc"])
    data = json.loads(attention.texts["script"][0])
    assert data["start"] == "#decoder-cross-1" and data["sentence"] in SOURCES

    said = " ".join(page.texts["p"])
    assert "trained for 3 of 100,000 steps on 9.0 million tokens" in said
    assert "5.00 after 1 steps and 4.50 in the end" in said and "lowest, 4.00, after 2" in said
    assert "test.en (16 lines)" in said and "trained on the embedded toy grammar" in said
    settings = page.texts["code"]
    assert settings[settings.index("model.d_model") + 1 :][:2] == ["16", "512"]


def test_the_report_of_a_run_alone_says_what_is_missing(run, tmp_path):
    output = tmp_path / "report.html"
    (run / "metrics.jsonl").rename(run / "hidden")
    try:
        result = command("report", run, f"--output={output}")
    finally:
        (run / "hidden").rename(run / "metrics.jsonl")
    assert result.returncode == 0, result.stderr
    page = Page(output.read_text())
    assert "No test set was given" in " ".join(page.texts["p"])
    assert "no evaluation yet: the first comes after 1,000 steps" in " ".join(page.texts["p"])
    assert len(page.all("img")) == 1  # the schedule, which is known beforehand


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one run's folder"),
        (["{0}/none"], "is no run"),
        (["{0}", "--source={0}/test.en"], "give both, or neither"),
        (["{0}", "--source={0}/test.en", "--reference={0}/short.de"], "Received: 16 and 1"),
        (["{0}", "--source={0}/none", "--reference={0}/none"], "No such file"),
        (["{0}", "--limit=0"], "limit"),
        (["{0}", "--output={0}"], "which is a folder"),
        (
            ["{0}", "--source={0}/test.en", "--reference={0}/test.de", "--output={0}/none/page"],
            "No such file or directory",
        ),
    ],
)
def test_report_names_what_is_wrong(run, arguments, message):
    result = command("report", *(argument.format(run) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("count", "most"), [(3, 5), (15, 5), (16, 5), (17, 5), (40, 2)])
@pytest.mark.parametrize("scores", [[0.0], [0.0, 0.0, 1.0, 50.0], range(1000)])
def test_best_middle_and_worst_are_different_lines_in_their_order(count, most, scores):
    lines = [
        Example(i, scores[i % len(scores)], "word " * (i % 7), "reference", "output")
        for i in range(count)
    ]
    found = chosen(lines, most)
    assert list(found) == ["best", "middle", "worst"]
    assert [len(each) for each in found.values()] == [min(most, count // 3)] * 3
    shown = [*found["best"], *found["middle"], *found["worst"][::-1]]
    assert len(set(shown)) == len(shown)
    numbers = [line.score for line in shown]
    assert numbers == sorted(numbers, reverse=True)
    others = [line.score for line in lines if line not in shown]
    assert all(numbers[0] >= score >= numbers[-1] for score in others)
    for name, sign in (("best", -1), ("worst", 1)):
        order = [(sign * line.score, -len(line.source)) for line in found[name]]
        assert order == sorted(order)


def test_two_lines_are_all_there_are():
    lines = [Example(i, float(i), "source", "reference", "output") for i in range(2)]
    assert chosen(lines, 5) == {"all": lines[::-1]}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (16_000, "for 4,000 steps, the warm-up, to 6.99e-04, then falls"),
        (1000, "to the end, to 1.75e-04 at step 1,000: the warm-up has 4,000."),
    ],
)
def test_the_report_tells_of_a_peak_only_if_it_is_reached(steps, said):
    experiment = Experiment(training=TrainingConfig(steps=steps))
    facts = RunFacts("run", experiment, experiment, {}, [], {}, [])
    assert f"It rises {said}" in html_of(schedule(facts))


def test_elements_keep_the_order_of_texts_and_escape_them():
    made = element("p", "a<", element("b", "&"), ">c", None, element("i"), "d", class_='"x"')
    assert html_of(made) == '<p class="&quot;x&quot;">a&lt;<b>&amp;</b>&gt;c<i></i>d</p>'
    assert '<td class="number">1</td>' in html_of(table(["a", "b"], [["x", "1"]], numbers=[1]))
