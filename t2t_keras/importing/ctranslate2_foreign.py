"""Models of CTranslate2 that differ from the paper's Transformer, which are refused."""

import re

# {variable that the paper's model does not have: feature that needs the variable}
FOREIGN = {
    "relative_position_keys": "relative positions",
    "relative_attention_bias": "relative positions",
    "relative_left_max_position": "relative positions",
    "rotary_dim": "rotary positions (RoPE)",
    "alibi": "ALiBi",
    "linear_0_noact": "gated linear units",
    "q_norm": "norms of queries and keys",
    "layernorm_embedding": "a norm of the embeddings",
    "project_in": "projections of the embeddings",
    "project_out": "projections of the embeddings",
    "sliding_window": "a sliding window",
    "scale_outputs": "scaled outputs",
    "final_logit_softcapping": "capped logits",
    "weight_zero": "AWQ quantization",
    "embeddings_1": "several sources or factors",
    "num_heads_kv": "multi-query attention",
    "multi_query_attention": "multi-query attention",
}
# Names of scalars that the importer reads, or that do not affect the paper's model.
KNOWN = re.compile(
    r"(.*/)?(num_heads|pre_norm|activation|scale_embeddings|multiply_by_sqrt_depth|queries_scale"
    r"|start_from_zero_embedding|alignment_layer|alignment_heads|embeddings_merge"
    r"|alibi_use_positive_positions|scale_alibi"
    r"|with_(source|target)_(bos|eos)|(bos|eos|unk)_token)"
)


def refuse_foreign(folder, model, settings):
    """Raises `ValueError` for a model that is not the paper's Transformer.

    Args:
        folder: path of the folder, for the message.
        model: the `CTranslate2File`.
        settings: contents of its config.json.
    """
    attributes = model.attributes
    names = [*model.tensors, *(name for name in attributes if is_on(name, attributes[name]))]
    for name in names:
        for part in name.split("/"):
            if part in FOREIGN:
                raise ValueError(
                    f"{folder} has {FOREIGN[part]} ({name}): it is not the paper's "
                    "Transformer, and is not imported"
                )
    unknown = [
        name
        for name in attributes
        if not KNOWN.fullmatch(name) and not FOREIGN.keys() & set(name.split("/"))
    ]
    if unknown:
        raise ValueError(
            f"{folder} has settings that the paper's Transformer does not have, so it is "
            f"not imported: {', '.join(unknown[:8])}"
        )
    remedies = {
        "quantization_type": "Convert the model again without --quantization",
        "multi_query_attention": "Its heads share keys and values",
    }
    for name, remedy in remedies.items():
        if settings.get(name):
            raise ValueError(
                f"{folder}/config.json has {name}={settings[name]}: such a model is "
                f"not imported. {remedy}"
            )


def is_on(name, value):
    """Returns whether an attribute switches its feature on."""
    if name.endswith("/rotary_dim"):  # 0 means all dimensions, -1 none
        return isinstance(value, str) or value >= 0
    return bool(value)
