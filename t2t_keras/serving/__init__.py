"""An HTTP server for translation models, with TensorFlow Serving's REST interface."""
