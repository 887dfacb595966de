"""The interfaces of Keras: call arguments, shapes, settings of weights, quantization and LoRA."""
