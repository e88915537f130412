"""Integrations with other libraries: scikit-learn, Avalanche, ONNX, TensorBoard."""
