#pragma once

// Uses std::string and leaves its inclusion to others.
std::string dependent();
