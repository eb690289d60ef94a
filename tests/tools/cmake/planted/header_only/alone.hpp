#pragma once

#include "lower/lower.hpp"

inline int alone() { return lower(); }
