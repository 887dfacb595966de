"""Keras' interfaces: call arguments, shapes, settings of weights, quantization, LoRA, freezing."""
