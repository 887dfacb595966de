"""Downloads models of the Hugging Face Hub."""
