"""Reading of other systems' trained models; see README.md."""
