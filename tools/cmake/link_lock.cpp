// The program of every link lock: that it links is the test.
int main() { return 0; }
