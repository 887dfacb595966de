"""Fields of queries, forms and JSON."""

import time
from types import SimpleNamespace

import pytest
from multidict import MultiDict

from t2t_keras.serving.apis.forms import fields_of
from t2t_keras.serving.limits import Refusal


def fields(body, content_type, query=()):
    kind = content_type.partition(";")[0]
    headers = {"Content-Type": content_type}
    request = SimpleNamespace(content_type=kind, headers=headers, query=MultiDict(query))
    return fields_of(request, body)


def part(name, value, more=b""):
    return b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n' % (name, more, value)


def test_the_query_precedes_a_form_and_the_first_of_equal_fields_counts():
    form = "application/x-www-form-urlencoded"
    assert fields(b"q=1&q=2&a=%C3%A9+b&e=", form) == {"q": "1", "a": "é b", "e": ""}
    assert fields(b"q=1&a=2", form, [("q", "0"), ("q", "9")]) == {"q": "0", "a": "2"}
    assert fields(b"q=1", "text/plain", [("a", "b")]) == {"a": "b"}
    assert fields(b'{"q": 1}', "application/json", [("a", "b")]) == {"q": 1}
    assert fields(b'{"q": 1}', "application/vnd.api+json") == {"q": 1}


def test_files_and_damaged_parts_of_multipart_forms_are_ignored():
    multipart = "multipart/form-data; boundary=x"
    file = part(b"file", b"secret", b'; filename="a"')
    body = b"before" + part(b"q", b"a\r\nb") + file + b"--x\r\nnothing\r\n--x--\r\n"
    assert fields(b"\r\n" + body.removeprefix(b"before"), multipart) == {"q": "a\nb"}
    for damaged in (b"", b"--x", b"--x--", b"\0" * 99, b"--x\r\n\r\n--x--"):
        assert fields(damaged, multipart) == {}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"--x\r\nContent-Disposition: " + b'form-data; name="q";' * 40_000, "x"),
        (b"--x\r\nContent-Disposition: " + b';a="' * 200_000 + b"\r\n\r\na", "x"),
        (b"\r\n--x" * 190_000, "x"),
    ],
)
def test_a_hostile_form_of_a_megabyte_takes_no_time(body, kind):
    begin = time.monotonic()
    try:
        assert fields(body, f"multipart/form-data; boundary={kind}") == {}
    except Refusal as refusal:
        assert "more than 100 fields" in refusal.message
    assert time.monotonic() - begin < 1
