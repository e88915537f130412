"""Looking into a trained network: sparsity, usage, probability surfaces, update dynamics."""
