// Declares `lower` only, and calls the layer above it.
int upper();

int upward() { return upper(); }
