// Amounts of resources in words, for reasons that people read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

/// "1 node", "3 nodes".
std::string counted(std::int64_t n, const std::string& one);

/// Thousandths as a number without needless digits: "2", "0.5", "1.25".
std::string thousandths_text(std::int64_t thousandths);

/// Thousandths of a core: "1 core", "0.5 cores".
std::string cores_text(std::int64_t thousandths);

/// "16 GiB", "4 GB", "1 byte"; in the largest unit that makes a whole number.
std::string bytes_text(std::int64_t bytes);

/// "a, b and c"; empty where there is nothing.
std::string listed(const std::vector<std::string>& parts);

}  // namespace orrery
