"""Languages: their codes and names, their scripts, and which of them a text is in."""
