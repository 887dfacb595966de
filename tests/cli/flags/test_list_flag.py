"""Values of a list flag add up."""

import copy

from absl import flags

from t2t_keras.cli.flags.list_flag import define_list


def test_a_list_flag_given_twice_has_all_values():
    name = "values_of_a_test"
    define_list(name, ["x"], "Values.")
    given = ["program", f"--{name}=a,b", f"--{name}=c"]
    copied = copy.deepcopy(flags.FLAGS)
    copied(given, known_only=True)
    assert copied[name].value == ["a", "b", "c"] and flags.FLAGS[name].value == ["x"]
    flags.FLAGS(given, known_only=True)
    assert flags.FLAGS[name].value == ["a", "b", "c"]
    delattr(flags.FLAGS, name)
