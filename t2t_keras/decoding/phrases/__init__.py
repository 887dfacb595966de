"""Search for translations that contain given phrases."""
