"""The model card of a published run: README.md with metadata for the Hugging Face Hub.

Every statement comes from the run's record, from the report of its data, or from a measurement;
what was not recorded is left out.
"""

import dataclasses
import math
import re
from pathlib import Path

from pipelines.atomic_files import read_json
from pipelines.batches.corpora import corpora_in
from pipelines.languages.language_codes import language_name
from pipelines.preparation.report import dropped_text
from pipelines.progress import duration
from t2t_keras.models import model_class
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.config_file import (
    corpora_facts,
    preparation_of,
    read_config,
    recorded_corpora,
)
from t2t_keras.runs.exports.card_metadata import metadata, yaml_lines
from t2t_keras.runs.exports.published_run import base_name, base_names, scores_of, without_paths

HUB_NAME = 96  # maximum number of characters in a name on the Hub


def model_card(run, published, name, license, base, speed, dtype):
    """Returns the text of the model card.

    Args:
        run: the `Run`.
        published: the `Run` that is published, with its weights and the model for LiteRT.
        name: name of the model.
        license: its license, or None.
        base: name on the Hub of the model that it is made from, or None.
        speed: the `Speed` of the model for LiteRT, or None.
        dtype: the type of its weights. None: there is no model for LiteRT.
    """
    contents = read_config(published.config_file)
    languages = published.languages()
    scores = held_out_scores(published)
    data = reports_of(run)
    sections = {
        "Use": [*use_lines(name, dtype), *plugin_lines(contents)],
        "Evaluation": evaluation_lines(published, scores),
        "Training data": data_lines(run, contents, data),
        "Training": training_lines(published, contents),
        "Speed": speed_lines(speed, published, dtype),
        "Limits": limit_lines(published, contents, languages, scores, data, dtype),
    }
    head = f"# {on_one_line(name)}" + (f": {' to '.join(languages.names)}" if languages else "")
    facts = metadata(name, languages, license, base, scores, dtype is not None)
    text = "\n".join(yaml_lines(facts))
    body = "\n\n".join(
        f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines
    )
    summary = "\n".join(summary_lines(published, contents, dtype))
    return f"---\n{text}\n---\n\n{head}\n\n{summary}\n\n{body}\n"


def summary_lines(run, contents, dtype):
    config = run.experiment().model
    count = sum(parameter_counts(config).values())
    system = contents.get("imported")
    origin = contents.get("origin") or {}
    if "hub" in origin:
        address = f"[{origin['hub']}](https://huggingface.co/{origin['hub']})"
        yield f"Made from {address}, revision `{origin['revision'][:12]}`."
    elif system != "t2t_keras":
        yield f"Imported from another system: {system}."
    if contents.get("init"):
        yield f"Training began from the weights of the run `{contents['init']}`."
    engines = "on Keras 3 and on LiteRT" if dtype else "on Keras 3"
    yield f"A {model_class(config).__name__} of {count:,} weights, for t2t_keras, {engines}."


def use_lines(name, dtype):
    engine = "" if dtype in (None, "float32") else f" --dtype={dtype}"
    name = hub_name(name)
    return [
        "Put the name of this repository's owner in the place of `ORG`:",
        "",
        '    pip install "t2t-keras[hub]"',
        f"    t2t-import hf:ORG/{name} --run={name}",
        f"    t2t-translate {name}{engine} < input.txt > output.txt",
        f"    t2t-serve {name}{engine}",
    ]


def plugin_lines(contents):
    """Yields a statement about the plug-in files in a config.json."""
    if names := ", ".join(f"`imports/{name}`" for name in contents.get("imports") or ()):
        yield ""
        yield f"It contains Python code, {names}. Read it, and give each of the commands `--trust`."


def hub_name(name):
    """Returns a name as the Hub allows them, such as "my-run" for "my run"."""
    name = re.sub(r"[^\w.-]+|\.{2,}|-{2,}", "-", name, flags=re.A)
    return name.strip("-.")[:HUB_NAME].rstrip("-.") or "model"


def held_out_scores(run):
    """Returns a dict for each recorded BLEU of a run's weights: set, score, signature."""
    found = scores_of(run)
    named = {"": found["bleu"]} if "bleu" in found else {}
    named |= found.get("bleu_by_set", {})
    files = {each.name: each for each in run.experiment().data.held_out_files()}
    result = []
    for name, facts in named.items():
        if name in files:
            pair = f"{files[name].source}, {files[name].target}"
            title = f"held-out set {name} ({pair})" if name else f"held-out set ({pair})"
        else:
            title = f"held-out set {name}" if name else "held-out set of the toy grammar"
        result.append({"set": title, "score": facts["score"], "signature": facts["signature"]})
    return result


def cell(text):
    return on_one_line(text).replace("|", "\\|")


def on_one_line(text):
    """Returns a text with spaces in the place of control characters, such as those of a name."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text)


def evaluations_of(run):
    """Returns the evaluations during training until the last step of a run's weights."""
    newest = max(run.weights_steps() or [math.inf])
    return [each for each in run.evaluations() if each["step"] <= newest]


def evaluation_lines(run, scores):
    """Returns a table of BLEU. Without scores of these weights, the last of the training."""
    if scores:
        rows = [f"| {cell(s['set'])} | {s['score']:.2f} | `{s['signature']}` |" for s in scores]
        return ["| lines | BLEU | signature |", "|---|---|---|", *rows]
    last = next((each for each in reversed(evaluations_of(run)) if each.get("bleu")), None)
    if last is None:
        return ["No score of these weights was recorded."]
    return [
        "These weights were not scored with this search. The last evaluation during training, at "
        f"step {last['step']:,}, had a BLEU of {last['bleu']:.2f} (`{last['bleu_signature']}`)."
    ]


def reports_of(run):
    """Returns [(name of a corpus, its report)] for the corpora of a run.

    [] if a folder is gone, or was prepared anew since: its report is of different text.
    """
    folder = run.experiment().data.folder
    settings = read_config(run.config_file)
    if not folder or "imported" in settings:
        return []
    recorded, preparation = recorded_corpora(settings), settings.get("preparation")
    if recorded and recorded != corpora_facts(folder):
        return []
    if preparation and preparation != preparation_of(folder):
        return []
    try:
        folders = [Path(corpus.folder) for corpus in corpora_in(folder)]
    except ValueError:  # its folder is gone
        return []
    found = [(base_name(str(each)), read_json(each / "report.json")) for each in folders]
    return [(name, report) for name, report in found if report]


def corpora_lines(contents):
    """Yields a line for each corpus of a published config.json."""
    for each in recorded_corpora(contents):
        if each["pairs"] is not None:
            words = each["words"]
            with_words = ", with {:,} words of source and {:,} of target" if words else ""
            yield f"- `{each['folder']}`: {each['pairs']:,} pairs{with_words.format(*words or ())}."


def data_lines(run, contents, data):
    settings = run.experiment().data
    held_out = [
        f"- Held out: `{base_names(each.source)}`, `{base_names(each.target)}`."
        for each in settings.held_out_files()
    ]
    if contents["imported"] != "t2t_keras":
        return ["Trained by others; see where the model is from."]
    if not settings.folder:
        return [f"{settings.toy_pairs:,} pairs of the toy grammar of t2t_keras."]
    rules = (contents.get("preparation") or {}).get("cleaning") or vars(settings.cleaning)
    rules = [name if on is True else f"{name} {on}" for name, on in rules.items() if on]
    cleaning = f"- Cleaning: {', '.join(rules) or 'none'}."
    if not data:
        name = base_names(settings.folder)
        unknown = [f"- Prepared text with the name `{name}`, without its report."]
        known = [*corpora_lines(contents)]
        return [*([*known, cleaning] if known else unknown), *held_out]
    lines = []
    for name, report in data:
        counts = report["counts"]
        words = counts["words"]
        lines += [
            f"- `{name}`: {counts['kept']:,} pairs, with {words['source']:,} words of source and "
            f"{words['target']:,} of target. {counts['read']:,} pairs were read; dropped: "
            f"{dropped_text(counts)}."
        ]
    vocabulary = data[0][1]["vocabulary"]
    return [
        *lines,
        cleaning,
        f"- Vocabulary: {vocabulary['size']:,} pieces, {vocabulary['kind']}.",
        *held_out,
    ]


def training_lines(run, contents):
    experiment = run.experiment()
    model, training, batches = experiment.model, experiment.training, experiment.data.batches
    settings = {"d_model": "d_model", "d_ff": "d_ff", "num_heads": "heads"}
    shape = [f"layers {' + '.join(map(str, model.layers))}"] + [
        f"{settings[field.name]} {getattr(model, field.name)}"
        for field in dataclasses.fields(model)
        if field.name in settings
    ]
    lines = ["- Model: " + ", ".join(shape)]
    if contents["imported"] != "t2t_keras":
        return lines
    evaluations = evaluations_of(run)
    loss, optimizer = (
        f"{name} ({options})" if options else name
        for name, options in (
            (training.loss.replace("_", " "), training.loss_options),
            (training.optimizer, training.optimizer_options),
        )
    )
    if training.loss == "label_smoothed_cross_entropy":
        loss = f"label smoothing {training.label_smoothing:g}"
    lines.append(
        f"- Optimization: {training.steps:,} steps planned, up to {batches.tokens:,} tokens per "
        f"side in a batch, {optimizer}, learning rate {training.learning_rate:g} ("
        f"{training.schedule} schedule, {training.warmup_steps:,} steps of warm-up), dropout "
        f"{model.dropout:g}, {loss}, {training.precision}, seed {training.seed}"
    )
    steps = run.weights_steps()
    if steps:
        lines.append(
            f"- Weights: of step {', '.join(f'{step:,}' for step in steps)}"
            + (", averaged" if len(steps) > 1 else "")
        )
    if evaluations:
        last = evaluations[-1]
        lines.append(
            f"- Up to step {last['step']:,}: {last['tokens']:,} tokens in "
            f"{duration(last['seconds'])}, {last['tokens_per_second']:,.0f} tokens/s, "
            f"{last['flops']:.2g} FLOPs"
        )
    versions = ", ".join(f"{name} {version}" for name, version in contents["versions"].items())
    return [*lines, f"- Versions: {versions}"]


def speed_lines(speed, run, dtype):
    if speed is None:
        return []
    beam = run.search_settings().beam
    return [
        f"{speed.milliseconds:.0f} ms for a sentence of {speed.words:.0f} words: the median of "
        f"{speed.sentences} sentences, one at a time, LiteRT {dtype}, beam {beam}, measured at the "
        f"export on {speed.processor}."
    ]


def limit_lines(run, contents, languages, scores, data, dtype):
    """Returns known weaknesses, as far as they follow from facts."""
    experiment = run.experiment()
    batches, lines = experiment.data.batches, []
    if languages:
        source, target = map(language_name, languages)
        lines.append(f"- It translates {source} to {target}, and no other direction.")
    ours = contents["imported"] == "t2t_keras"
    if contents.get("init"):
        lines.append(f"- Nothing is recorded here about the text of the run `{contents['init']}`.")
    elif ours and data:
        longest = max(side["longest"] for _, each in data for side in each["sides"].values())
        what = f"the longest sentence of its training had {min(longest, batches.max_length):,}"
        lines.append(f"- It is untested on long sentences: {what} pieces.")
        pairs = sum(report["counts"]["kept"] for _, report in data)
        names = ", ".join(f"`{name}`" for name, _ in data)
        lines.append(
            f"- It has seen {pairs:,} pairs, all of them from {names}. Nothing is known about its "
            "quality on text of another kind."
        )
    if ours and data:
        in_bytes = max(side["in_bytes"] for _, each in data for side in each["sides"].values())
        unknown = max(side["unknown"] for _, each in data for side in each["sides"].values())
        if in_bytes or unknown:
            lines.append(
                "- Characters that its vocabulary lacks are rare in its data: "
                f"{in_bytes:.3%} of the pieces are bytes of such characters, {unknown:.3%} unknown."
            )
    if ours and not experiment.data.folder and not contents.get("init"):
        lines.append("- It knows the words of the toy grammar only.")
    if scores:
        lines.append(
            "- BLEU was measured on the lines that were watched during training, with weights in "
            "float32. It is no score of an independent test set."
        )
    else:
        lines.append("- No BLEU of these weights with this search is known.")
    if dtype is None:
        lines.append("- It has no model for LiteRT: it translates with TensorFlow.")
    elif dtype != "float32":
        lines.append(f"- The model for LiteRT has weights in {dtype}; its BLEU was not measured.")
    for _, report in data:
        # The other sentences quote a pair of the text, and give advice about its preparation.
        facts = [warning.partition(". ")[0] for warning in report.get("warnings", ())]
        lines += [f"- {without_paths(fact)}." for fact in facts]
    return lines
