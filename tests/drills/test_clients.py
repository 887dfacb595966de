"""A server and the clients that others have written: of LibreTranslate, and schemathesis.

They need not be installed beside this package, with whose dependencies some of theirs clash:
`T2T_CLIENTS` is the folder of the programs of an environment that has them. See BUILD.md.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.serving.serving_client import export_pair, get, served, until

pytestmark = pytest.mark.drill

PROGRAMS = Path(os.environ.get("T2T_CLIENTS", Path(sys.executable).parent))
SCRIPT = Path(__file__).parents[1] / "support/serving/real_clients.py"
CASES = os.environ.get("T2T_DRILL", "100")  # of schemathesis, per operation and phase
KEY = "a-key"
# A body for predictions that fits its schema may still have the wrong inputs, which depend on the
# signature: schemathesis may not expect that each is accepted.
SETTINGS = f"""
headers = {{ Authorization = "Bearer {KEY}" }}
[[operations]]
include-path-regex = ":predict$"
checks.positive_data_acceptance.enabled = false
"""


def has_clients():
    names = "import libretranslatepy, deep_translator, schemathesis"
    return subprocess.run([PROGRAMS / "python", "-c", names], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def addresses(run, tmp_path_factory):
    """A server of two models without API keys, and one with a key."""
    if not (shutil.which(PROGRAMS / "python") and has_clients()):
        pytest.skip("needs libretranslatepy, deep-translator and schemathesis; see T2T_CLIENTS")
    folder = tmp_path_factory.mktemp("clients")
    pairs = ("en", "de"), ("de", "en")
    models = [export_pair(run, folder, *pair) for pair in pairs]
    (folder / "keys").write_text(KEY)
    flags = f"--api_key_file={folder}/keys", f"--access_log={folder}/log"
    with served(*models) as (first, free), served(*models, *flags) as (second, locked):
        for address in (free, locked):
            until(lambda address=address: get(address, "health")[0] == 200)
        yield free, locked
        for process in (first, second):
            assert "Traceback" not in process.errors()
            assert process.stop() == 0
    assert KEY not in (folder / "log").read_text()


def test_clients_of_libretranslate_get_the_answers_of_plain_requests(addresses):
    for address in addresses:
        command = [PROGRAMS / "python", SCRIPT, address, KEY]
        result = subprocess.run(command, capture_output=True, text=True)
        print(result.stdout)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("needs_key", [False, True])
def test_schemathesis_finds_no_answer_that_differs_from_the_document(
    addresses, needs_key, tmp_path
):
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    options = ["--phases=examples,coverage,fuzzing,stateful", f"--max-examples={CASES}", "--seed=1"]
    command = [PROGRAMS / "schemathesis", "run", f"{addresses[needs_key]}/openapi.json", *options]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    print(re.sub(r"(?s).*SUMMARY", "", result.stdout))
    assert result.returncode == 0, result.stdout
