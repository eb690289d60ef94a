#include "upper/upper.hpp"

#include "lower/lower.hpp"

int upper() { return lower() + 1; }
