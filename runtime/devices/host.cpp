#include "runtime/devices/host.hpp"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The number that a file holds; nothing where there is none, as in "max".
std::optional<std::int64_t> number_in(const fs::path& path) {
  std::istringstream in(first_line(path));
  std::int64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::int32_t processors_by_affinity() {
  // Larger than any machine; the kernel refuses a mask that is too small.
  constexpr int kProcessorsMax = 1 << 16;
  std::vector<unsigned long> mask(kProcessorsMax / (8 * sizeof(unsigned long)));
  const std::size_t bytes = mask.size() * sizeof(unsigned long);
  auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
  if (::sched_getaffinity(0, bytes, set) != 0) return 0;
  return CPU_COUNT_S(bytes, set);
}

std::int32_t numa_nodes_by_files(const std::string& root) {
  std::int32_t nodes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++nodes;
  }
  return nodes;
}

/// Where this process stands in one hierarchy of control groups: `controller` of version 1, or
/// version 2 where that is empty. Nothing where it stands in none.
std::optional<std::string> own_group(const std::string& root, std::string_view controller) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_it = controller.empty() ? controllers == ",,"
                                          : controllers.find("," + std::string(controller) + ",") !=
                                                std::string::npos;
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The group of this process and all above it, seen from a mount of its hierarchy. In a container
/// the mount may begin at the group itself, whose path then is not there.
std::vector<fs::path> groups_upwards(const fs::path& mount, const std::string& group) {
  std::vector<fs::path> groups{mount};
  fs::path at = mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    if (part == "..") break;
    at /= part;
    groups.push_back(at);
  }
  return groups;
}

/// Thousandths of a core that bandwidth control allows.
std::int64_t cpu_limit(const std::string& root) {
  std::int64_t limit = kNoLimit;
  const auto take = [&](std::int64_t quota, std::int64_t period) {
    if (quota > 0 && period > 0 && quota < kNoLimit / 1000)
      limit = std::min(limit, std::max<std::int64_t>(1, quota * 1000 / period));
  };
  if (const auto group = own_group(root, ""))
    for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
      for (const fs::path& each : groups_upwards(root + mount, *group)) {
        std::istringstream in(first_line(each / "cpu.max"));
        std::int64_t quota = 0;
        std::int64_t period = 0;
        if (in >> quota >> period) take(quota, period);
      }
  if (const auto group = own_group(root, "cpu"))
    for (const std::string mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
      for (const fs::path& each : groups_upwards(root + mount, *group))
        take(number_in(each / "cpu.cfs_quota_us").value_or(-1),
             number_in(each / "cpu.cfs_period_us").value_or(0));
  return limit;
}

std::int64_t memory_limit(const std::string& root) {
  std::int64_t limit = kNoLimit;
  const auto take = [&](const fs::path& path) {
    if (const auto value = number_in(path); value && *value > 0) limit = std::min(limit, *value);
  };
  if (const auto group = own_group(root, ""))
    for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
      for (const fs::path& each : groups_upwards(root + mount, *group)) take(each / "memory.max");
  if (const auto group = own_group(root, "memory"))
    for (const fs::path& each : groups_upwards(root + "/sys/fs/cgroup/memory", *group))
      take(each / "memory.limit_in_bytes");
  return limit;
}

std::int64_t memory_of_machine(const std::string& root) {
  std::ifstream in(root + "/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemTotal:") return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

Topology read_topology(const std::string& root) {
  return {processors_by_affinity(), numa_nodes_by_files(root)};
}

HostResources read_host(const Topology& topology, const std::string& root) {
  HostResources host;
  const std::int64_t processors = std::max(1, topology.processors);
  host.cpu = MilliCpu{std::min(processors * 1000, cpu_limit(root))};
  host.memory = Bytes{std::min(memory_of_machine(root), memory_limit(root))};
  host.numa_nodes = std::max(1, topology.numa_nodes);
  return host;
}

HostResources share_of(const HostResources& host, int agents) {
  constexpr std::int64_t kWorkerCpu = 1000;
  constexpr std::int64_t kWorkerMemory = std::int64_t{2} << 30;
  const auto part = [agents](std::int64_t all, std::int64_t least) {
    return std::max(all / agents, std::min(all, least));
  };
  HostResources share = host;
  share.cpu = MilliCpu{part(host.cpu.count, kWorkerCpu)};
  share.memory = Bytes{part(host.memory.count, kWorkerMemory)};
  return share;
}

}  // namespace orrery::runtime
