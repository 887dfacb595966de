"""An HTTP server for SavedModels that speaks TensorFlow Serving's REST interface."""
