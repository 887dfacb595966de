"""The model card of a published run: README.md with metadata for the Hugging Face Hub.

Every statement comes from the run's record, from the report of its data, or from a measurement;
what was not recorded is left out.
"""

import json
from pathlib import Path

from pipelines.atomic_files import read_json
from pipelines.batches.corpora import corpora_in
from pipelines.languages.language_codes import language_name
from pipelines.preparation.report import dropped_text
from pipelines.progress import duration
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.exports.published_run import base_names, scores_of, without_paths


def model_card(run, published, name, license, base, speed, dtype):
    """Returns the text of the model card.

    Args:
        run: the `Run`.
        published: the `Run` that is published, with its weights and the model for LiteRT.
        name: name of the model.
        license: its license, or None.
        base: name on the Hub of the model that it is made from, or None.
        speed: the `Speed` of the model for LiteRT, or None.
        dtype: the type of its weights.
    """
    contents = read_config(published.config_file)
    languages = published.languages()
    scores = held_out_scores(published)
    data = reports_of(run)
    sections = {
        "Use": use_lines(name, dtype),
        "Evaluation": evaluation_lines(run, scores),
        "Training data": data_lines(run, contents, data),
        "Training": training_lines(published, contents),
        "Speed": speed_lines(speed, published, dtype),
        "Limits": limit_lines(published, contents, languages, scores, data, dtype),
    }
    head = f"# {name}" + (f": {' to '.join(languages.names)}" if languages else "")
    text = "\n".join(yaml_lines(metadata(name, languages, license, base, scores)))
    body = "\n\n".join(
        f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines
    )
    summary = "\n".join(summary_lines(published, contents))
    return f"---\n{text}\n---\n\n{head}\n\n{summary}\n\n{body}\n"


# Metadata


def metadata(name, languages, license, base, scores):
    """Returns the metadata, a dict; see https://huggingface.co/docs/hub/model-cards."""
    facts = {
        "language": list(languages) if languages else None,
        "license": license,
        "library_name": "t2t-keras",
        "pipeline_tag": "translation",
        "tags": ["translation", "transformer", "t2t-keras", "keras", "litert"],
        "base_model": base,
    }
    facts = {key: value for key, value in facts.items() if value}
    if scores:
        task = {"type": "translation"}
        if languages:
            task["name"] = f"Translation {' to '.join(languages.names)}"
        facts["model-index"] = [{"name": name, "results": [result(task, s) for s in scores]}]
    return facts


def result(task, score):
    """Returns an entry of the metadata for a score."""
    return {
        "task": task,
        "dataset": {"type": "held-out", "name": score["set"]},
        "metrics": [
            {
                "type": "bleu",
                "value": round(score["score"], 2),
                "name": f"BLEU ({score['signature']})",
            }
        ],
    }


def yaml_lines(value, indent=""):
    """Yields the lines of a YAML document. Texts are quoted as in JSON, which YAML allows."""
    entries = value.items() if isinstance(value, dict) else [(None, each) for each in value]
    for key, each in entries:
        start = f"{indent}{key}:" if key is not None else f"{indent}-"
        if not isinstance(each, dict | list):
            text = json.dumps(each, ensure_ascii=False)
            yield f"{start} {text if needs_quotes(each) else each}"
            continue
        inner = list(yaml_lines(each, indent + "  "))
        if key is None:  # the first entry stands behind the dash
            yield f"{start} {inner.pop(0).lstrip()}"
        else:
            yield start
        yield from inner


def needs_quotes(value):
    """Returns whether a value is a text that YAML could read as something else."""
    plain = isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum()
    words = ("no", "yes", "on", "off", "y", "n", "true", "false", "null")
    return isinstance(value, str) and (not plain or value in words or value[0].isdigit())


# Sections


def summary_lines(run, contents):
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
    yield f"A Transformer of {count:,} weights, for t2t_keras, on Keras 3 and on LiteRT."


def use_lines(name, dtype):
    engine = "" if dtype == "float32" else f" --dtype={dtype}"
    return [
        "Put the name of this repository's owner in the place of `ORG`:",
        "",
        '    pip install "t2t-keras[hub]"',
        f"    t2t-import hf:ORG/{name} --run={name}",
        f"    t2t-translate {name}{engine} < input.txt > output.txt",
        f"    t2t-serve {name}{engine}",
    ]


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


def evaluation_lines(run, scores):
    """Returns a table of BLEU. Without scores of these weights, the last of the training."""
    if scores:
        rows = [f"| {s['set']} | {s['score']:.2f} | `{s['signature']}` |" for s in scores]
        return ["| lines | BLEU | signature |", "|---|---|---|", *rows]
    last = next((each for each in reversed(run.evaluations()) if each.get("bleu")), None)
    if last is None:
        return ["No score of these weights was recorded."]
    return [
        "These weights were not scored. The last evaluation during training, at step "
        f"{last['step']:,}, had a BLEU of {last['bleu']:.2f} (`{last['bleu_signature']}`)."
    ]


def reports_of(run):
    """Returns [(name of a corpus, its report)] for the corpora of a run that are still there."""
    folder = run.experiment().data.folder
    if not folder or "imported" in read_config(run.config_file):
        return []
    try:
        corpora = corpora_in(folder)
    except ValueError:  # its folder is gone
        return []
    found = [
        (base_names(corpus.folder), read_json(Path(corpus.folder) / "report.json"))
        for corpus in corpora
    ]
    return [(name, report) for name, report in found if report]


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
    if not data:
        name = base_names(settings.folder)
        return [f"- Prepared text with the name `{name}`, without its report.", *held_out]
    lines = []
    for name, report in data:
        counts = report["counts"]
        words = counts["words"]
        lines += [
            f"- `{name}`: {counts['kept']:,} pairs, with {words['source']:,} words of source and "
            f"{words['target']:,} of target. {counts['read']:,} pairs were read; dropped: "
            f"{dropped_text(counts)}."
        ]
    rules = vars(settings.cleaning).items()
    rules = [name if on is True else f"{name} {on}" for name, on in rules if on]
    vocabulary = data[0][1]["vocabulary"]
    return [
        *lines,
        f"- Cleaning: {', '.join(rules) or 'none'}.",
        f"- Vocabulary: {vocabulary['size']:,} pieces, {vocabulary['kind']}.",
        *held_out,
    ]


def training_lines(run, contents):
    experiment = run.experiment()
    model, training, batches = experiment.model, experiment.training, experiment.data.batches
    shape = {
        "layers": getattr(model, "layers", None) or getattr(model, "num_layers", None),
        "d_model": getattr(model, "d_model", None),
        "d_ff": getattr(model, "d_ff", None),
        "heads": getattr(model, "num_heads", None),
    }
    if isinstance(shape["layers"], tuple):
        shape["layers"] = " + ".join(map(str, shape["layers"]))
    lines = ["- Model: " + ", ".join(f"{name} {value}" for name, value in shape.items() if value)]
    if contents["imported"] != "t2t_keras":
        return lines
    evaluations = run.evaluations()
    lines.append(
        f"- Optimization: {training.steps:,} steps planned, up to {batches.tokens:,} tokens per "
        f"side in a batch, learning rate {training.learning_rate:g} ({training.schedule} schedule, "
        f"{training.warmup_steps:,} steps of warm-up), dropout {model.dropout:g}, label smoothing "
        f"{training.label_smoothing:g}, {training.precision}, seed {training.seed}"
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
    if ours and data:
        longest = max(side["longest"] for _, each in data for side in each["sides"].values())
        what = f"the longest sentence of its training had {min(longest, batches.max_length):,}"
        lines.append(f"- It is untested on long sentences: {what} pieces.")
        pairs = sum(report["counts"]["kept"] for _, report in data)
        names = ", ".join(f"`{name}`" for name, _ in data)
        lines.append(
            f"- It has seen {pairs:,} pairs, all of them from {names}. Nothing is known about its "
            "quality on text of another kind."
        )
        in_bytes = max(side["in_bytes"] for _, each in data for side in each["sides"].values())
        unknown = max(side["unknown"] for _, each in data for side in each["sides"].values())
        if in_bytes or unknown:
            lines.append(
                "- Characters that its vocabulary lacks are rare in its data: "
                f"{in_bytes:.3%} of the pieces are bytes of such characters, {unknown:.3%} unknown."
            )
    if ours and not experiment.data.folder:
        lines.append("- It knows the words of the toy grammar only.")
    if scores:
        lines.append(
            "- BLEU was measured on the lines that were watched during training, with weights in "
            "float32. It is no score of an independent test set."
        )
    else:
        lines.append("- No BLEU of these weights is known.")
    if dtype != "float32":
        lines.append(f"- The model for LiteRT has weights in {dtype}; its BLEU was not measured.")
    for _, report in data:
        lines += [f"- {without_paths(warning)}" for warning in report.get("warnings", ())]
    return lines
