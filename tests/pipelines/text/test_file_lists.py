import pytest

from pipelines.text.file_lists import find_files


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data1.en", "data2.en", "data[1].en", "a,b.en", "a", "c"):
        (tmp_path / name).write_text(name)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("data?.en", ["data1.en", "data2.en"]),
        ("data[2].en", ["data2.en"]),
        ("a,b.en", ["a,b.en"]),
        ("data[1].en,data*.en,a", ["data[1].en", "data1.en", "data2.en", "data[1].en", "a"]),
        ("a,c", ["a", "c"]),
    ],
)
def test_a_path_that_exists_is_that_file_and_the_rest_are_lists_and_globs(given, found):
    assert [str(path) for path in find_files("source", given)] == found


def test_missing_files_are_named():
    with pytest.raises(ValueError, match=r"There is no source file b\.en"):
        find_files("source", "a,c,b.en")
    with pytest.raises(ValueError, match="no file matches that pattern"):
        find_files("source", "*.fr")
