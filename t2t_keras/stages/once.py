"""Results that are computed once and kept in a file."""

import json

from pipelines.atomic_files import read_json, write_json


def once(path, key, make):
    """Returns the result of `make()`, or the stored result of an earlier call.

    Args:
        path: path of the JSON file that stores the key and the result.
        key: all values that the result depends on, that JSON can hold. A stored result with
            a different key is replaced.
        make: function without arguments that returns JSON types.
    """
    key, earlier = json.loads(json.dumps(key)), read_json(path, {})
    if earlier.get("key") == key:
        return earlier["result"]
    path.unlink(missing_ok=True)  # it no longer describes the files that `make` writes
    result = make()
    write_json(path, {"key": key, "result": result})
    return result
