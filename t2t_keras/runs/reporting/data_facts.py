"""Facts about the training text and the hardware of a run, for its report and its model card."""

from t2t_keras.training.hardware.hardware_description import hardware_text

MOST_FILES = 6  # maximum number of files that are named for one corpus


def data_facts(data, record, evaluation):
    """Returns {fact: texts}, without facts that are unknown, given a `DataConfig`.

    The record is the contents of config.json. The evaluation is the last line of `metrics.jsonl`,
    or {}.
    """
    corpora = [*map(corpus_text, record["corpora"])]
    passes = evaluation.get("passes", {}).items()
    seen = ", ".join(f"{times:.3g} times for {name}" for name, times in passes)
    facts = {
        "training text": corpora or [f"{data.toy_pairs:,} pairs of the built-in toy grammar"],
        "seen": [f"each pair on average {seen}"] if seen else [],
        "held-out text": held_out_texts(data, record.get("held_out", {})),
        "hardware": hardware_course(record.get("hardware", [])),
    }
    return {name: texts for name, texts in facts.items() if texts}


def corpus_text(corpus):
    """Describes a corpus, an item of the entry "corpora" of a config.json."""
    text = f"{corpus['folder']}: {corpus['pairs']:,} sentence pairs"
    if corpus["words"]:
        source, target = corpus["words"]
        text += f" with {source:,} source words and {target:,} target words"
    if files := corpus["files"]:
        more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
        text += f", read from {', '.join(files[:MOST_FILES])}{more}"
    return text


def held_out_texts(data, counts):
    """Describes each held-out set, whose numbers of pairs are in `counts`, or the lack of one."""
    if files := data.held_out_files():
        texts = []
        for each in files:
            name = f"{each.name}: " if each.name else ""
            size = f"{counts[each.name]:,} pairs of " if each.name in counts else ""
            texts.append(f"{name}{size}{each.source} and {each.target}")
        return texts
    if data.folder:
        return ["none"]
    size = f"{counts['']:,} pairs with " if "" in counts else ""
    return [f"{size}combinations of words that are not in the training text"]


def hardware_course(hardware):
    """Describes each hardware on which a run was trained, and from which step on.

    `hardware` is the entry "hardware" of a config.json, in ascending order of steps.
    """
    starts = (f"from step {n + 1:,} on: " if (n := each["from_step"]) else "" for each in hardware)
    return [start + hardware_text(each) for start, each in zip(starts, hardware, strict=True)]
