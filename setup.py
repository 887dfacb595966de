"""Builds the package and declares its dependencies. See BUILD.md."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
# The tests passed with these versions. Keras and TensorFlow change behavior between minor versions,
# so a new one is allowed only after it has been tested.
TRAIN = [
    "flatbuffers>=25,<26",
    "importlib-resources>=6,<8",  # an undeclared dependency of tensorflow-datasets 4.9
    "keras>=3.15,<3.16",
    "matplotlib>=3.10,<4",
    "pyyaml>=6,<7",
    "sacrebleu>=2.5,<3",
    "tensorboard>=2.20,<3",  # holds tf.summary; TensorFlow no longer requires it
    "tensorflow>=2.21,<2.22",
    "tensorflow-datasets>=4.9.9,<5",
    "tensorflow-text>=2.21,<2.22",
]
MODULES = {"import": "import_model"}  # modules of commands that are Python's keywords


def version():
    for line in (ROOT / "t2t_keras" / "__init__.py").read_text(encoding="utf-8").splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise RuntimeError("t2t_keras/__init__.py does not set __version__")


def long_description():
    """Returns the README without relative links and pictures, which a package index cannot show."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\n\n", "", text, flags=re.M)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


setup(
    name="t2t-keras",
    version=version(),
    description='The Transformer of "Attention Is All You Need" for TensorFlow and Keras 3',
    long_description=long_description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    # TensorFlow 2.21 has wheels for Python 3.10 to 3.13; the code needs 3.11.
    # tensorflow-text 2.21 has no wheels for Windows or for Macs with Intel processors.
    python_requires=">=3.11,<3.14",
    # Listed by name: setuptools refuses to guess if there are several top-level folders. The
    # configs are shipped inside the package, where no other project's configs can shadow them.
    packages=[
        *find_packages(include=["t2t_keras", "t2t_keras.*", "pipelines", "pipelines.*"]),
        "t2t_keras.configs",
    ],
    package_dir={"t2t_keras.configs": "configs"},
    package_data={
        "t2t_keras.cli": ["completion_scripts/*"],
        "t2t_keras.serving.page": ["page.html", "page.css", "page_*.js"],
        "t2t_keras.visualization": ["*.css", "*.html", "*.js"],
    },
    # What translates and serves with LiteRT; an extra cannot leave out TensorFlow.
    install_requires=[
        "absl-py>=2.3,<3",
        # LiteRT. Its calls without copies are private: see translating/engines/litert_model.py.
        "ai-edge-litert>=2.3,<2.4; sys_platform != 'darwin' or platform_machine == 'arm64'",
        "aiohttp>=3.14,<4",
        "numpy>=2.1,<3",
        "prometheus-client>=0.26,<1",
        "sacremoses>=0.2,<0.3",
        "sentencepiece>=0.2.2,<0.3",
    ],
    extras_require={
        "train": TRAIN,
        "gpu": [*TRAIN, "tensorflow[and-cuda]>=2.21,<2.22"],
        "beam": ["apache-beam>=2.77,<3"],
        "ctranslate2": ["ctranslate2>=4.8,<5"],
        "hub": ["huggingface-hub>=2.4,<3"],
        "ja": ["sacrebleu[ja]>=2.5,<3"],
        "ko": ["sacrebleu[ko]>=2.5,<3"],
        "identify": ["pycld2>=0.42,<0.43"],
        # JAX is a second backend for the model's tests, build makes the wheel in CI, nbclient and
        # ipykernel run the notebook, and selenium tests the server's page in a browser, if one is
        # installed.
        "test": [
            *TRAIN,
            "apache-beam>=2.77,<3",
            "build>=1.2,<2",
            "ctranslate2>=4.8,<5",
            "huggingface-hub>=2.4,<3",
            "ipykernel>=7.4,<8",
            "jax>=0.10,<0.11",
            "nbclient>=0.11,<0.12",
            "pycld2>=0.42,<0.43",
            "pytest>=9,<10",
            "pytest-xdist>=3.8,<4",
            "ruff>=0.17,<0.18",
            "selenium>=4.51,<5",
        ],
    },
    entry_points={
        "console_scripts": [
            f"t2t-{command} = t2t_keras.cli.{MODULES.get(command, command)}:entry"
            for command in (
                "attention",
                "average",
                "benchmark",
                "completion",
                "distill",
                "evaluate",
                "export",
                "import",
                "parameters",
                "prepare",
                "report",
                "reproduce",
                "score",
                "serve",
                "train",
                "translate",
            )
        ]
    },
    classifiers=[
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
