"""The weight of encoder heads on related words of toy documents, and their use for pronouns.

The toy grammar knows the relations between the words of its documents (`pipelines.toy.documents`).
For each kind, the best head is chosen on one half of the documents and measured on the other. So
is the best fixed distance, the baseline of a head that ignores words.
"""

import itertools

import numpy as np
from keras import ops

from pipelines.special_ids import END
from pipelines.tokenizers import words as words_of
from pipelines.toy.documents import documents as toy_documents
from t2t_keras.reproduction.claims.head_analysis import without_each_head
from t2t_keras.runs.run import Run
from t2t_keras.visualization.heads import joined

DOCUMENTS = 400  # number of documents whose weights are measured
WORDS = 25  # minimum number of words of a document
PRONOUNS = 100  # number of documents in which the German pronoun is chosen
FAR = 4  # minimum distance of words that are far from each other; 3 words are between them
LONGEST_EXAMPLE = 24  # words of the document that is drawn
# {row of the table: (kind of relation, minimum distance)}
ROWS = {
    "determiner → noun": ("determiner", 1),
    "verb → subject": ("subject", 1),
    f"verb → subject, {FAR} words or more": ("subject", FAR),
    "verb → object": ("object", 1),
    f"verb → object, {FAR} words or more": ("object", FAR),
    "“it” → antecedent": ("antecedent", 1),
    f"“it” → antecedent, {FAR} words or more": ("antecedent", FAR),
}
# Rows that are drawn, each with the head that is best for it.
DRAWN = [name for name, (_, far) in ROWS.items() if far == FAR]


def analyse(folder, step):
    """Measures the encoder heads of a run, for `analysed`, on held-out toy documents.

    Returns:
        A dict in JSON types: "rows" has the results of `measured` for each name in `ROWS`,
        "distances" {kind: {distance in words: share of the weight of the kind's head}}, "pronouns"
        the result of `chosen_pronouns`, "example" the words of a document, its relations and the
        weights of the heads in `DRAWN`.
    """
    run = Run(folder)
    model, tokenizer = run.loaded(str(step)), run.tokenizer().source
    documents = held_out_documents()
    cases = cases_of(model, tokenizer, documents)
    chance = cases_of(run.new_model(run.checkpoints.path(step)), tokenizer, documents)
    heads = model.config.num_heads
    rows = {name: measured(cases, chance, heads, *key) for name, key in ROWS.items()}
    distances = {
        kind: by_distance(cases, kind, rows[name]["head"], heads)
        for name, (kind, far) in ROWS.items()
        if far == 1
    }
    return {
        "rows": rows,
        "distances": distances,
        "pronouns": chosen_pronouns(run, str(step), model, documents),
        "example": example(model, tokenizer, rows),
    }


def held_out_documents():
    return list(itertools.islice(toy_documents(WORDS, "test", seed=1), DOCUMENTS))


def with_pronouns(documents):
    return [document for document in documents if document.pronouns][:PRONOUNS]


def commonest_gender():
    """Returns the share of right pronouns of a model that always chooses the same gender."""
    genders = [each.pronouns[0].gender for each in with_pronouns(held_out_documents())]
    return max(map(genders.count, genders)) / len(genders)


def word_weights(model, tokenizer, text):
    """Returns weights between the words of a source text, `[layers, heads, words, words]`.

    The end token is the last word.
    """
    ids = np.array([[*tokenizer.encode([text])[0], END]], "int32")
    options = {"mask": model.source_mask(ids), "return_weights": True}
    _, weights = model.encoder(model.embed_source(ids), **options)
    split = words_of(tokenizer, ids[0])
    pieces = [size for _, size in split]
    assert len(split) == len(text.split()) + 1, split
    return np.stack(
        [joined(ops.convert_to_numpy(array)[0], pieces, pieces) for array in weights.values()]
    )


def cases_of(model, tokenizer, documents):
    """Returns all relations in documents, {field: array with an entry for each relation}.

    "half" is 0 or 1, the half of the documents; "kind" the kind of the relation; "distance" the
    index of the word at its end minus that of the word at its start; "words" the number of words
    that the heads can attend to. "shares" are the weights of all heads on the word at the end,
    `[relations, layers · heads]`; "is_largest" whether this weight is the head's largest.
    """
    cases = []
    for index, document in enumerate(documents):
        weights = word_weights(model, tokenizer, document.english)
        weights = weights.reshape(-1, *weights.shape[2:])  # [layers · heads, words, words]
        for kind, start, end in document.relations:
            attended = weights[:, start]
            largest = attended.argmax(axis=-1) == end
            cases.append((index % 2, kind, end - start, len(weights[0]), attended[:, end], largest))
    fields = ("half", "kind", "distance", "words", "shares", "is_largest")
    return dict(zip(fields, map(np.array, zip(*cases, strict=True)), strict=True))


def chosen_cases(cases, half, kind, at_least=1):
    """Returns the relations of a kind in a half, which have a minimum distance in words."""
    is_chosen = (cases["half"] == half) & (cases["kind"] == kind)
    is_chosen &= np.abs(cases["distance"]) >= at_least
    return {field: values[is_chosen] for field, values in cases.items()}


def measured(cases, untrained, heads, kind, at_least):
    """Returns the best head for a kind of relation, and the baselines.

    `cases` are from `cases_of`, and `untrained` from a model with random weights; a layer has
    `heads` heads. Relations are at least `at_least` words long.

    Returns:
        A dict in JSON types. "head" is (layer, head), both counted from 0; "share" is its mean
        weight on the related word, and "largest" the share of relations on which this weight is
        its largest. "chance" is the share of even weights, "fixed" that of a head whose whole
        weight is at the best "offset", "untrained" that of the best head of `untrained`. "shares"
        has the share of every head.
    """
    first, second = (chosen_cases(cases, half, kind, at_least) for half in (0, 1))
    random_first, random_second = (chosen_cases(untrained, half, kind, at_least) for half in (0, 1))
    head, random_head = (each["shares"].mean(axis=0).argmax() for each in (first, random_first))
    offsets = first["distance"].tolist()
    offset = max(sorted(set(offsets)), key=offsets.count)
    shares = second["shares"].mean(axis=0)
    return {
        "cases": len(second["words"]),
        "distance": float(np.abs(second["distance"]).mean()),
        "chance": float((1 / second["words"]).mean()),
        "offset": offset,
        "fixed": float((second["distance"] == offset).mean()),
        "untrained": float(random_second["shares"].mean(axis=0)[random_head]),
        "head": list(divmod(int(head), heads)),
        "share": float(shares[head]),
        "largest": float(second["is_largest"].mean(axis=0)[head]),
        "shares": shares.tolist(),
    }


def by_distance(cases, kind, head, heads, fewest=8):
    """Returns {distance: mean weight of a head}, for distances of at least `fewest` cases."""
    second = chosen_cases(cases, 1, kind)
    distances = np.abs(second["distance"])
    shares = second["shares"][:, head[0] * heads + head[1]].astype("float64")
    counts = zip(*np.unique(distances, return_counts=True), strict=True)
    return {int(n): float(shares[distances == n].mean()) for n, count in counts if count >= fewest}


def chosen_pronouns(run, weights, model, documents):
    """Returns how often the right German pronoun is more likely than the two wrong ones.

    Returns:
        {"cases": number of pronouns, "right": share of right ones, "without": {sub-layer: list with
        the share without each head}}. The decoder may find the gender in the German noun.
    """
    documents = with_pronouns(documents)
    pairs, rights = [], []
    for document in documents:
        pronoun, words = document.pronouns[0], document.german.split()
        for gender, form in pronoun.forms.items():
            words[pronoun.place] = form
            pairs.append((document.english, " ".join(words)))
            rights.append(gender == pronoun.gender)
    right = np.reshape(rights, (-1, 3)).argmax(axis=-1)

    def share():
        log_p = np.reshape([score.log_p for score in run.score(pairs, weights)], (-1, 3))
        return float(np.mean(log_p.argmax(axis=-1) == right))

    complete = share()
    without = without_each_head(model, share)
    return {"cases": len(documents), "right": complete, "without": without}


def example(model, tokenizer, rows):
    """Returns the first short document that has relations of all rows in `DRAWN`."""
    wanted = [ROWS[name] for name in DRAWN]

    def links(document, kind, far):
        return [
            [relation.start, relation.end]
            for relation in document.relations
            if relation.kind == kind and abs(relation.end - relation.start) >= far
        ]

    def suits(document):
        return all(links(document, *key) for key in wanted)

    more = toy_documents(WORDS // 2, "test", seed=2)
    short = (each for each in more if len(each.english.split()) <= LONGEST_EXAMPLE)
    document = next(filter(suits, short))
    weights = word_weights(model, tokenizer, document.english)
    heads = {}
    for name in DRAWN:
        layer, head = rows[name]["head"]
        heads[name] = np.round(weights[layer, head], 3).tolist()
    return {
        "words": [*document.english.split(), "end"],
        "links": {name: links(document, *ROWS[name]) for name in DRAWN},
        "weights": heads,
    }
