"""The paper's tables, one file each, each with its flags and a `reproduce()`."""
