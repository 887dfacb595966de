"""Export formats for trained models: SavedModels, LiteRT models and CTranslate2 folders."""
