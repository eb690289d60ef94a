#include "tools/bench/hollow/process_cost.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace orrery::bench {

std::optional<ProcessCost> cost_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return {};
  // The name, in parentheses, may hold anything.
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::int64_t user = 0;
  std::int64_t system = 0;
  fields >> user >> system;
  for (int field = 16; field < 20; ++field) fields >> skipped;
  ProcessCost cost;
  fields >> cost.threads;
  for (int field = 21; field < 24; ++field) fields >> skipped;
  std::int64_t pages = 0;
  fields >> pages;
  if (!fields) return {};
  cost.cpu_s = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  cost.resident_b = pages * sysconf(_SC_PAGESIZE);
  return cost;
}

}  // namespace orrery::bench
