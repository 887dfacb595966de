"""Tags: pieces before sources that tell the model what to write, such as the target language.

Johnson et al. 2017 (arXiv 1611.04558): with a token for the target language before each source, one
model translates into several languages. A tag is a piece of the vocabulary that no text is encoded
to. If a text contains the characters of a tag, they are encoded as ordinary text.
"""

import copy
import types


def tagged(tokenizer, tag):
    """Returns a tokenizer whose sources begin with a tag, or `tokenizer` if the tag is None."""
    if tag is None:
        return tokenizer
    source = copy.copy(tokenizer.source)
    source.start = (tag_id(tokenizer, tag),)
    return types.SimpleNamespace(
        source=source,
        target=tokenizer.target,
        normalization=tokenizer.normalization,
        contents=tokenizer.contents,
        untagged=tokenizer,
        tag=tag,
    )


def untagged(tokenizer):
    """Returns the tokenizer without its tag, if it has one."""
    return getattr(tokenizer, "untagged", tokenizer)


def tag_id(tokenizer, tag):
    """Returns the id of a tag. Raises `ValueError` if the vocabulary has no such tag."""
    tags = tokenizer.source.tags
    if tag not in tags:
        known = f"Its tags are {', '.join(tags)}" if tags else "It has none"
        raise ValueError(
            f"the vocabulary has no tag {tag!r}. {known}. Tags are reserved "
            "when a vocabulary is learned: t2t-prepare --config.data.vocabulary.tags"
        )
    return tags[tag]


def chosen_tag(to, tags):
    """Returns the tag to put before a source, or None.

    Args:
        to: the requested tag, such as "<2de>" or, for short, "de". If None, the tag that all
            corpora share, if any.
        tags: the tag of each corpus of the training data; None for a corpus without a tag.
    """
    known = {short_name(tag): tag for tag in tags if tag}
    if to is None:
        if None in tags or not tags:
            return None
        if len(known) > 1:
            choices = " or ".join(f"--to={name}" for name in known)
            raise ValueError(f"the training data has several tags: choose {choices}")
        return tags[0]
    if to not in known and to not in known.values():
        listed = f"It has {', '.join(known)}" if known else "It has none: leave --to out"
        raise ValueError(f"the training data has no tag {to!r}. {listed}")
    return known.get(to, to)


def short_name(tag):
    """Returns X for a tag "<2X>", and any other tag unchanged."""
    is_language = tag.startswith("<2") and tag.endswith(">") and len(tag) > 3
    return tag[2:-1] if is_language else tag
