"""Measurements that are kept in a file, so that a repeated command does not repeat them."""

from pipelines.whole import read_json, write_json


def kept(path, key, measure):
    """Returns the result of `measure()`, or that of an earlier call with the same key.

    Args:
        path: path of the JSON file.
        key: everything that the result depends on, in JSON types.
        measure: function without arguments; its result has JSON types.
    """
    earlier = read_json(path, {})
    if earlier.get("key") == key:
        return earlier["result"]
    result = measure()
    write_json(path, {"key": key, "result": result})
    return result
