"""The section of a report on what a run was trained on: text and hardware."""

from t2t_keras.visualization.document import element, section

MOST_FILES = 6  # maximum number of files that are named for one corpus


def data_and_hardware(run):
    """Returns the section.

    Args:
        run: `RunFacts`.
    """
    data = run.experiment.data
    rows = [["languages", " to ".join(run.languages)]] if run.languages else []
    if not data.folder:
        rows.append(["training text", f"{data.toy_pairs:,} pairs of the built-in toy grammar"])
    for corpus in run.corpora:
        rows.append(["training text", corpus_text(corpus)])
        if corpus["files"]:
            rows.append(["read from", list_of_files(corpus["files"])])
    last = run.evaluations[-1] if run.evaluations else {}
    if seen := passes_text(last):
        rows.append(["seen", seen])
    rows += [["held-out text", text] for text in held_out_texts(data, run.held_out)]
    rows.append(["hardware", hardware_course(run.hardware)])
    items = [(element("dt", name), element("dd", text)) for name, text in rows]
    return section("Data and hardware", element("dl", *sum(items, ()), class_="facts"))


def corpus_text(corpus):
    """Describes a corpus, an item of the entry "corpora" of a config.json."""
    text = f"{corpus['folder']}: {corpus['pairs']:,} sentence pairs"
    if corpus["words"]:
        source, target = corpus["words"]
        text += f" with {source:,} source words and {target:,} target words"
    return text


def list_of_files(files):
    """Returns the names of the first files, each in its own line."""
    shown = [element("code", name) for name in files[:MOST_FILES]]
    if len(files) > MOST_FILES:
        shown.append(f"and {len(files) - MOST_FILES:,} more")
    return element("div", *(element("div", each) for each in shown))


def held_out_texts(data, counts):
    """Yields a description of each held-out set, and one if there is none.

    Args:
        data: a `DataConfig`.
        counts: {name of a set: number of pairs}.
    """
    for each in data.held_out_files():
        name = f"{each.name}: " if each.name else ""
        count = f"{counts[each.name]:,} pairs of " if each.name in counts else ""
        yield f"{name}{count}{each.source} and {each.target}"
    if not data.held_out_files() and not data.folder:
        count = f"{counts['']:,} pairs with " if "" in counts else ""
        yield f"{count}combinations of words that are not in the training text"
    elif not data.held_out_files():
        yield "none"


def passes_text(evaluation):
    """Describes how often each corpus of a mix was seen; "" if there is no mix."""
    passes = evaluation.get("passes", {})
    seen = ", ".join(f"{times:.3g} times for {name}" for name, times in passes.items())
    return f"each pair on average {seen}" if seen else ""


def hardware_course(hardware):
    """Describes on which hardware a run was trained, and from which step on.

    Args:
        hardware: a list of (number of steps before, description), in ascending order.
    """
    if not hardware:
        return "none yet"
    texts = [text if not step else f"from step {step + 1:,} on: {text}" for step, text in hardware]
    return element("div", *(element("div", text) for text in texts))
