"""Translation: text in, text out, by an engine that takes ids and gives hypotheses."""
