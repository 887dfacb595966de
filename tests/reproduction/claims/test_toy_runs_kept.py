from t2t_keras.reproduction.claims.toy_runs import measured_once


def test_a_measurement_is_repeated_only_for_a_different_key(tmp_path):
    path, results = tmp_path / "kept.json", iter([[1], [2]])

    def measured(key):
        return measured_once(path, key, lambda: next(results))

    assert measured({"n": [1, 2]}) == [1]
    assert measured({"n": [1, 2]}) == [1]
    assert measured({"n": [1]}) == [2]
