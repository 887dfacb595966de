"""The metadata of a model card, in YAML; see https://huggingface.co/docs/hub/model-cards."""

import json
import re

# Not allowed in YAML, or a line break there, although JSON leaves them as they are.
ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def metadata(name, languages, license, base, scores, has_litert):
    """Returns the metadata, a dict.

    Args:
        name, license, base: see `model_card`.
        languages: the `Languages`, or None.
        scores: see `model_card.held_out_scores`.
        has_litert: whether there is a model for LiteRT.
    """
    facts = {
        "language": list(languages) if languages else None,
        "license": license,
        "library_name": "t2t-keras",
        "pipeline_tag": "translation",
        "tags": ["translation", "transformer", "t2t-keras", "keras"] + ["litert"] * has_litert,
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
            yield f"{start} {scalar(each)}"
            continue
        inner = list(yaml_lines(each, indent + "  "))
        if key is None:  # the first entry stands behind the dash
            yield f"{start} {inner.pop(0).lstrip()}"
        else:
            yield start
        yield from inner


def scalar(value):
    """Returns a text or a number. Without quotes, No would be false, and -5 a number."""
    text = json.dumps(value, ensure_ascii=False)
    return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
