import functools

import pytest

from t2t_keras.options import checked_options, made, read_options


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("nesterov=true,amsgrad=False, a=none", {"nesterov": True, "amsgrad": False, "a": None}),
        ("kind=cosine,name='a, b'", {"kind": "cosine", "name": "a, b"}),
        (
            'layers=["encoder", decoder],power=-1e-3',
            {"layers": ["encoder", "decoder"], "power": -1e-3},
        ),
    ],
)
def test_options_are_read(text, options):
    assert read_options("options", text) == options


@pytest.mark.parametrize(
    "text",
    [
        *("a", "a=1;b=2", "a=b-c", "**{'a': 1}", "a=1) + f(b=2", "a=__import__('os')"),
        *("a=b'x'", "a=1e999", "a=" + "9" * 320, "a=" + "(" * 5000, "a=1,a=2", 5),
    ],
    ids=lambda text: str(text)[:20],
)
def test_anything_else_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^`options` must be .* Received: options=") as error:
        read_options("options", text)
    assert "\n" not in str(error.value)


def make(rate, decay=0.1, amsgrad=False, kind="a", layers=(), momentum=None):
    return rate, decay, amsgrad, kind, layers, momentum


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decya": 1}, r"`o` has no option 'decya' \(did you mean 'decay'\?\). The options are: "),
        ({"rate": 1}, "`o` has no option 'rate'"),
        ({"decay": "high"}, "`o: decay` must be a number. Received: o: decay='high'"),
        ({"decay": True}, "`o: decay` must be a number"),
        ({"amsgrad": 1}, "`o: amsgrad` must be True or False"),
        ({"kind": 1}, "`o: kind` must be text"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        checked_options("o", make, options, given=("rate",))


def test_options_are_the_parameters_of_a_function_or_class():
    options = {"decay": 1, "layers": ["x"], "momentum": "any"}
    found = checked_options("o", make, options, given=("rate",))
    assert found == options and isinstance(found["decay"], float)
    with pytest.raises(ValueError, match="`o` must give the option 'rate', which has no default"):
        checked_options("o", make, {})
    with pytest.raises(ValueError, match=r"`o` has no option 'x'. No option of 'f' is known"):
        checked_options("o", lambda: None, {"x": 1}, of="f")
    assert checked_options("o", lambda **options: options, {"x": 1}) == {"x": 1}
    checked_options("o", functools.partial(make, rate=1), {"kind": "b"})


def test_a_value_that_the_function_refuses_is_named_with_the_setting():
    def fail(x):
        raise TypeError(f"no {x}")

    table = {"f": make, "fail": fail}
    assert made("o", table, "f", "decay=2", rate=1, other=3)[:2] == (1, 2)
    with pytest.raises(ValueError, match=r"`o_options`: no 3. Received: \{'x': 3\}"):
        made("o", table, "fail", "x=3")
    with pytest.raises(ValueError, match=r"`o` must be one of 'f', 'fail'"):
        made("o", table, "g", "")
