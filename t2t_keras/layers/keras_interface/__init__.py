"""The interfaces of Keras: call arguments, shapes, settings of weights, quantization, LoRA and freezing."""
