"""The search for translations that contain given phrases."""
