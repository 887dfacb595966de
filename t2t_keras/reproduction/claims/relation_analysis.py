"""The weight of encoder heads on related words of toy documents, and their use for pronouns.

The toy grammar knows the relations between the words of its documents (`pipelines.toy.documents`).
For each kind, the best head is chosen on one half of the documents and measured on the other. So
is the best fixed distance, the baseline of a head that ignores words.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from pipelines.special_ids import END
from pipelines.tokenizers import words as words_of
from pipelines.toy.documents import documents as toy_documents
from t2t_keras.reproduction.claims.head_analysis import attentions, without_head
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


class Case(NamedTuple):
    """A relation in a document, and the attention of all heads from the word at its start."""

    kind: str  # kind of the relation
    distance: int  # index of the word at its end minus that of the word at its start
    words: int  # number of words that the heads can attend to
    shares: Any  # each head's weight on the word at the end, `[layers · heads]`
    is_largest: Any  # whether this weight is the head's largest, `[layers · heads]`


def analyse(folder, step):
    """Measures the encoder heads of a run on held-out toy documents.

    Call this function in a child process, because it loads the model.

    Args:
        folder: folder of the run.
        step: step of the checkpoint.

    Returns:
        A dict in JSON types: "rows" has the results of `measured` for each name in `ROWS`,
        "distances" {kind: {distance in words: share of the weight of the kind's head}}, "pronouns"
        the result of `chosen_pronouns`, "example" the words of a document, its relations and the
        weights of the heads in `DRAWN`.
    """
    run = Run(folder)
    model, tokenizer = run.loaded(str(step)), run.tokenizer().source
    documents = held_out_documents()
    cases = [cases_of(model, tokenizer, document) for document in documents]
    untrained = run.new_model(run.checkpoints.path(step))
    chance = [cases_of(untrained, tokenizer, document) for document in documents]
    heads = model.config.num_heads
    rows = {name: measured(cases, chance, heads, *key) for name, key in ROWS.items()}
    distances = {
        kind: by_distance(list(itertools.chain(*cases[1::2])), kind, rows[name]["head"], heads)
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


def cases_of(model, tokenizer, document):
    """Returns a `Case` for each relation in a document."""
    weights = word_weights(model, tokenizer, document.english)
    weights = weights.reshape(-1, *weights.shape[2:])  # [layers · heads, words, words]
    return [
        Case(
            relation.kind,
            relation.end - relation.start,
            weights.shape[-1],
            weights[:, relation.start, relation.end],
            weights[:, relation.start].argmax(axis=-1) == relation.end,
        )
        for relation in document.relations
    ]


def measured(cases, untrained, heads, kind, at_least):
    """Returns the best head for a kind of relation, and the baselines.

    Args:
        cases: a list of `Case`s for each document.
        untrained: the same from a model with random weights.
        heads: number of heads of a layer.
        kind: kind of the relations.
        at_least: minimum distance in words.

    Returns:
        A dict in JSON types. "head" is (layer, head), both counted from 0; "share" is its mean
        weight on the related word, and "largest" the share of relations on which this weight is
        its largest. "chance" is the share of even weights, "fixed" that of a head whose whole
        weight is at the best "offset", "untrained" that of the best head of `untrained`. "shares"
        has the share of every head.
    """

    def halves(of_documents):
        for half in (of_documents[::2], of_documents[1::2]):
            yield [
                case
                for case in itertools.chain(*half)
                if case.kind == kind and abs(case.distance) >= at_least
            ]

    def mean(cases, field):
        return np.mean([getattr(case, field) for case in cases], axis=0)

    first, second = halves(cases)
    head = int(mean(first, "shares").argmax())
    offsets = [case.distance for case in first]
    offset = max(sorted(set(offsets)), key=offsets.count)
    random_first, random_second = halves(untrained)
    random_head = int(mean(random_first, "shares").argmax())
    return {
        "cases": len(second),
        "distance": float(np.mean([abs(case.distance) for case in second])),
        "chance": float(np.mean([1 / case.words for case in second])),
        "offset": offset,
        "fixed": float(np.mean([case.distance == offset for case in second])),
        "untrained": float(mean(random_second, "shares")[random_head]),
        "head": list(divmod(head, heads)),
        "share": float(mean(second, "shares")[head]),
        "largest": float(mean(second, "is_largest")[head]),
        "shares": mean(second, "shares").tolist(),
    }


def by_distance(cases, kind, head, heads, fewest=8):
    """Returns {distance: mean weight of a head}, for distances of at least `fewest` cases."""
    index, shares = head[0] * heads + head[1], {}
    for case in cases:
        if case.kind == kind:
            shares.setdefault(abs(case.distance), []).append(float(case.shares[index]))
    return {n: float(np.mean(shares[n])) for n in sorted(shares) if len(shares[n]) >= fewest}


def chosen_pronouns(run, weights, model, documents):
    """Returns how often the right German pronoun is more likely than those of other genders.

    Args:
        run: a `Run`.
        weights: name of its weights.
        model: its model.
        documents: a list of `Document`s.

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

    complete, without = share(), {}
    for name, attention in attentions(model).items():
        without[name] = []
        for head in range(attention.num_heads):
            with without_head(attention, head):
                without[name].append(share())
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
