"""The process of a command: standard streams, signals, memory, messages of libraries."""
