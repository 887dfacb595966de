"""The model card of a published run: README.md with metadata for the Hugging Face Hub.

It states the facts that the run records. What was not recorded is left out.
"""

import json
import math
import re

from pipelines.printable import printable
from pipelines.progress import duration
from t2t_keras.experiment import Experiment
from t2t_keras.models import model_class
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.config_file import made_from, read_config
from t2t_keras.runs.reporting.data_facts import data_facts

HUB_NAME = 96  # maximum number of characters in a name on the Hub
SHOWN_ELSEWHERE = ("data.folder", "data.dev", "data.toy_pairs", "imports")
CARD = """---
{metadata}
---

# {title}

{limits}

    pip install "t2t-keras[hub]"
    t2t-import hf:ORG/{name} --run={name}   # ORG: the owner of this repository
    t2t-translate {name}{dtype} < input.txt > output.txt
    t2t-serve {name}{dtype}

| fact | |
|---|---|
{facts}
"""


def model_card(run, name, dtype):
    """Returns the text of the model card of a published `Run`.

    `dtype` is the type of the weights of the model for LiteRT. None: there is none.
    """
    contents, languages = read_config(run.config_file), run.languages()
    pair = " to ".join(languages.names) if languages else None
    title, scores = printable(name), scores_of(run)
    facts = {"Languages": pair, "License": contents["license"], **model_facts(run, contents)}
    if contents["imported"] == "t2t_keras":
        facts |= training_facts(run, contents)
    for held_out, each in scores.items():
        facts[f"BLEU, {held_out}"] = f"{each['score']:.2f} (`{each['signature']}`)"
    if dtype:
        facts["LiteRT"] = f"weights in {dtype}"
    metadata = metadata_of(title, languages, contents, scores, dtype)
    return CARD.format(
        # In JSON, which is YAML. Without its quotes, No would be false.
        metadata="\n".join(
            f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in metadata.items()
            if value
        ),
        title=f"{title}: {pair}" if pair else title,
        limits=" ".join(limits(run, contents, pair, scores, dtype)),
        name=hub_name(name),
        dtype="" if dtype in (None, "float32") else f" --dtype={dtype}",
        facts="\n".join(f"| {cell(key)} | {cell(text)} |" for key, text in facts.items() if text),
    )


def cell(text):
    return printable(text).replace("|", "\\|")


def hub_name(name):
    """Returns a name as the Hub allows them, such as "my-run" for "my run"."""
    name = re.sub(r"[^\w.-]+|\.{2,}|-{2,}", "-", name, flags=re.A)
    return name.strip("-.")[:HUB_NAME].rstrip("-.") or "model"


def metadata_of(name, languages, contents, scores, dtype):
    """Returns the metadata; see https://huggingface.co/docs/hub/model-cards."""
    results = []
    for held_out, each in scores.items():
        bleu = {"value": round(each["score"], 2), "name": f"BLEU ({each['signature']})"}
        dataset = {"type": "held-out", "name": held_out}
        metrics = [{"type": "bleu", **bleu}]
        results.append({"task": {"type": "translation"}, "dataset": dataset, "metrics": metrics})
    return {
        "language": languages,
        "license": contents["license"],
        "library_name": "t2t-keras",
        "pipeline_tag": "translation",
        "tags": ["translation", "transformer", "t2t-keras", "keras"] + ["litert"] * bool(dtype),
        "base_model": made_from(contents)["hub"],
        "model-index": results and [{"name": name, "results": results}],
    }


def scores_of(run):
    """Returns {held-out set: its facts} for each recorded BLEU of a run's weights."""
    found = (run.averaged.record() or {}).get("bleu", {})
    return {f"held-out set {name}".strip(): facts for name, facts in found.items()}


def model_facts(run, contents):
    """Returns {fact: text or None} about a run's model, its origin and its settings."""
    experiment, origin = run.experiment(), contents.get("origin") or {}
    target = run.vocabulary().target
    made = hub = made_from(contents)["hub"]
    if hub:
        made = f"[{hub}](https://huggingface.co/{hub})"
    if "hub" in origin:
        made += f", revision `{origin['revision'][:12]}`"
    elif contents["imported"] != "t2t_keras":
        made = f"imported from another system: {contents['imported']}"
    count = sum(parameter_counts(experiment.model).values())
    base, settings = Experiment().flat(), experiment.flat()
    changed = [name for name, value in settings.items() if base.get(name) != value]
    changed = [name for name in changed if not name.startswith(SHOWN_ELSEWHERE)]
    return {
        "Model": f"{model_class(experiment.model).__name__} of {count:,} weights",
        "Vocabulary": f"{target.size:,} pieces, {target.kind}",
        "Made from": made,
        "First weights": contents.get("init"),
        "Settings other than the base model's": ", ".join(
            f"{name} {settings[name]}" for name in changed
        ),
    }


def training_facts(run, contents):
    """Returns {fact: text} about the training of a run and its data."""
    steps = run.weights_steps()
    done = [each for each in run.evaluations() if each["step"] <= max(steps or [math.inf])]
    last = done[-1] if done else {}
    found = data_facts(run.experiment().data, contents, last).items()
    facts = {name.capitalize(): "; ".join(texts) for name, texts in found}
    if steps:
        facts["Weights"] = f"of step {', '.join(f'{step:,}' for step in steps)}"
    if last:
        bleu = f", BLEU {last['bleu']:.2f} (`{last['bleu_signature']}`)" if last.get("bleu") else ""
        facts["Training"] = (
            f"{last['tokens']:,} tokens in {duration(last['seconds'])}, {last['flops']:.2g} FLOPs "
            f"up to step {last['step']:,}{bleu}"
        )
    return facts | {"Versions": ", ".join(map(" ".join, contents["versions"].items()))}


def limits(run, contents, pair, scores, dtype):
    """Yields sentences about known weaknesses, as far as they follow from facts."""
    if pair:
        yield f"This model translates {pair}, and no other direction."
    if contents["imported"] == "t2t_keras":
        longest = run.experiment().data.batches.max_length
        yield f"It is untested on sentences of more than {longest:,} pieces."
    if not scores:
        yield "No BLEU of these weights with this search is known."
    if dtype is None:
        yield "It has no model for LiteRT: it translates with TensorFlow."
    if names := ", ".join(f"`imports/{name}`" for name in contents.get("imports") or ()):
        yield f"It contains Python code, {names}. Read it, and give each of the commands `--trust`."
