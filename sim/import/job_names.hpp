// Names of jobs that foreign files call whatever they like.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace orrery::sim {

/// Makes full job names of foreign ids, each once.
class JobNames {
 public:
  /// "default." and `id` as a DNS label: lower case, everything else "-", cut to 63 characters,
  /// and told apart by a number where two ids would get the same. Sets `label` to the id where the
  /// name shows another.
  std::string name(std::string_view id, std::string& label);

  /// No id gets this name, which is without its namespace.
  void take(std::string_view name) { used_.emplace(name); }

 private:
  std::string numbered(const std::string& wanted);

  std::set<std::string, std::less<>> used_;
  /// By what stands before the number, and by its digits: the least number not tried there yet.
  std::map<std::pair<std::string, int>, std::int64_t> next_;
};

}  // namespace orrery::sim
