// The whole of a file, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace orrery {

/// Empty where it cannot be read.
inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();  // At once: a test is compiled without optimisation.
  return std::move(out).str();
}

}  // namespace orrery
