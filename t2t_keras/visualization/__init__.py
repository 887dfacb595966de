"""Pictures of attention and of learning, from arrays and words."""
