"""Lines of text that commands read and write."""
