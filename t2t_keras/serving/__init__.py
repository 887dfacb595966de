"""An HTTP server for SavedModels, which speaks TensorFlow Serving's REST interface."""
