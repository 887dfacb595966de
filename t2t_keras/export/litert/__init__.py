"""Models for LiteRT: the programs of a model, and the flatbuffer that contains them."""
