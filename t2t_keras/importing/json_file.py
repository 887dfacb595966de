"""JSON files of other systems."""

import json


def read_json_file(path, default, kind=dict):
    """Returns the contents of a JSON file, or `default` if there is none.

    Raises:
        ValueError: the file does not hold JSON of this kind.
    """
    if not path.exists():
        return default
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file: {error}") from error
    if not isinstance(contents, kind):
        raise ValueError(f"{path} must hold a JSON {'list' if kind is list else 'object'}")
    return contents
