"""The widths of attention heads (§3.2.2), as layers, configs and Table 1 need them."""

from t2t_keras.checks import check, check_integer


def head_widths(d_model, num_heads, d_k=None, d_v=None):
    """Checks the sizes of multi-head attention and returns d_k and d_v.

    Both default to `d_model / num_heads`, so that all heads together cost as much as one head of
    full width (§3.2.2).
    """
    check_integer("d_model", d_model)
    check_integer("num_heads", num_heads)
    if d_k is None or d_v is None:
        check(
            d_model % num_heads == 0,
            "num_heads",
            num_heads,
            f"a divisor of d_model={d_model} unless d_k and d_v are given",
        )
    widths = {"d_k": d_k, "d_v": d_v}
    for name, width in widths.items():
        if width is None:
            widths[name] = d_model // num_heads
        check_integer(name, widths[name])
    return widths["d_k"], widths["d_v"]
