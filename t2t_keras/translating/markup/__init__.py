"""Translation of texts with markup: tags, entities, placeholders, addresses."""
