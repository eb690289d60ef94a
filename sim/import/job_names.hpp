// Names of jobs that foreign files call whatever they like.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace orrery::sim {

/// Makes full job names of foreign ids, each once.
class JobNames {
 public:
  /// "default." and `id` as a DNS label: lower case, everything else "-", cut to 63 characters,
  /// and told apart by a number where two ids would get the same. Sets `label` to the id where the
  /// name shows another.
  std::string name(std::string_view id, std::string& label);

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace orrery::sim
