"""Fields of queries, forms and JSON."""

from types import SimpleNamespace

import pytest
from multidict import MultiDict

from t2t_keras.serving.apis.bodies import fields_of
from t2t_keras.serving.limits import Refusal

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"


def fields(body, content_type, query=()):
    kind = content_type.partition(";")[0]
    headers = {"Content-Type": content_type}
    request = SimpleNamespace(content_type=kind, headers=headers, query=MultiDict(query))
    return fields_of(request, bytearray(body))


def part(name, value, more=b""):
    return b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n' % (name, more, value)


def test_the_query_precedes_a_form_and_the_first_of_equal_fields_counts():
    assert fields(b"q=1&q=2&a=%C3%A9+b&e=", FORM) == {"q": "1", "a": "é b", "e": ""}
    assert fields(b"q=1&a=2", FORM, [("q", "0"), ("q", "9")]) == {"q": "0", "a": "2"}
    assert fields(b"q=1", "text/plain", [("a", "b")]) == {"a": "b"}
    assert fields(b'{"q": 1}', "application/json", [("a", "b")]) == {"q": 1}
    assert fields(b'{"q": 1}', "application/vnd.api+json") == {"q": 1}


def test_files_and_damaged_parts_of_multipart_forms_are_ignored():
    file = part(b"file", b"secret", b'; filename="a"')
    body = part(b"q", b"a\r\nb") + file + b"--x\r\nnothing\r\n--x--\r\n"
    assert fields(b"\r\n" + body, MULTIPART) == {"q": "a\nb"}
    for damaged in (b"", b"--x", b"--x--", b"\0" * 99, b"--x\r\n\r\n--x--"):
        assert fields(damaged, MULTIPART) == {}


def test_the_number_of_fields_and_the_size_of_their_headers_are_limited():
    """A hostile form of a megabyte must not take seconds."""
    for head in (b'form-data; name="q";' * 40_000, b';a="' * 200_000):
        assert fields(b"--x\r\nContent-Disposition: " + head + b"\r\n\r\na", MULTIPART) == {}
    names = [b"%d" % n for n in range(101)]
    for count in (100, 101):
        for kind, body in {
            FORM: b"&".join(name + b"=1" for name in names[:count]),
            MULTIPART: b"".join(part(name, b"1") for name in names[:count]),
        }.items():
            if count == 100:
                assert len(fields(body, kind)) == 100
            else:
                with pytest.raises(Refusal, match="more than 100 fields"):
                    fields(body, kind)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"[1]", "application/json", "Invalid JSON format"),
        (b'{"q": ', "application/json", "JSON parse error: Expecting value"),
        (b"q=%ff&source=en&target=de", FORM, "The form is not UTF-8"),
        (part(b"q", b"\xff"), MULTIPART, "The form is not UTF-8"),
        (part(b"q", b"a"), "multipart/form-data", "The form has no boundary"),
    ],
)
def test_malformed_bodies_are_refused_with_a_reason(body, kind, message):
    with pytest.raises(Refusal, match=message) as error:
        fields(body, kind)
    assert error.value.status == 400
