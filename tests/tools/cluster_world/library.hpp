// The scenarios of the regression library that other worlds than `model` run too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/language/loader.hpp"

namespace orrery::tests {

inline std::vector<std::string> library_scenarios() {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const char* folder : {"lifecycle", "failover", "placement"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / "scenarios" / folder))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string name_of_scenario(const testing::TestParamInfo<std::string>& file) {
  return std::filesystem::path(file.param).stem().string();
}

}  // namespace orrery::tests
