"""Doors to other ecosystems: scikit-learn, Avalanche, ONNX, TensorBoard."""
