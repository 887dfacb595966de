"""What a trained model becomes for those who serve it."""
