"""Export formats for trained models: SavedModels and CTranslate2 folders."""
