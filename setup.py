"""The parts of the package's description that pyproject.toml cannot state."""

import re
from pathlib import Path

from setuptools import find_packages, setup


def long_description():
    """Returns the README without relative links and pictures, which a package index cannot show."""
    text = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\n\n", "", text, flags=re.M)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    # Listed by name: setuptools refuses to guess if there are several top-level folders. The
    # configs are shipped inside the package, where no other project's configs can shadow them.
    packages=[
        *find_packages(include=["t2t_keras", "t2t_keras.*", "pipelines", "pipelines.*"]),
        "t2t_keras.configs",
    ],
    package_dir={"t2t_keras.configs": "configs"},
)
