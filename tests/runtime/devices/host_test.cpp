// Processors, memory and NUMA nodes, from the kernel's files of machines that tests make.
#include "runtime/devices/host.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/devices/hwloc/hwloc_topology.hpp"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

/// The files of a machine with 64 GiB, gone with this.
class FakeRoot {
 public:
  FakeRoot()
      : path_(fs::temp_directory_path() / ("orrery_fake_root_" + std::to_string(::getpid()))) {
    write("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB\n");
  }

  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  ~FakeRoot() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  void write(const std::string& file, const std::string& text) const {
    const fs::path path = path_.string() + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::string path() const { return path_; }

 private:
  fs::path path_;
};

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(Host, WithoutLimitsItIsTheWholeMachine) {
  const FakeRoot root;
  EXPECT_EQ(read_host({32, 2}, root.path()),
            (HostResources{MilliCpu{32'000}, Bytes{64 * kGiB}, 2}));
  EXPECT_EQ(read_host({}, root.path()), (HostResources{MilliCpu{1000}, Bytes{64 * kGiB}, 1}))
      << "what is not known counts as one";
}

TEST(Host, TheTightestGroupUpwardsCounts) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/slurm/job_1/step_0\n");
  root.write("/sys/fs/cgroup/slurm/job_1/cpu.max", "250000 100000\n");
  root.write("/sys/fs/cgroup/slurm/job_1/step_0/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/slurm/memory.max", "8589934592\n");
  root.write("/sys/fs/cgroup/slurm/job_1/memory.max", "max\n");
  EXPECT_EQ(read_host({32, 1}, root.path()), (HostResources{MilliCpu{2500}, Bytes{8 * kGiB}, 1}));
  EXPECT_EQ(read_host({2, 1}, root.path()).cpu, MilliCpu{2000}) << "affinity is tighter";
}

TEST(Host, GroupsOfTheFirstVersionCountToo) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/\n");
  root.write("/sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "400000\n");
  root.write("/sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us", "100000\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "4294967296\n");
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read_host({32, 1}, root.path()), (HostResources{MilliCpu{4000}, Bytes{4 * kGiB}, 1}));
}

TEST(Host, OddFilesLimitNothing) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "\nno colons\n0::/../outside\n");
  root.write("/sys/fs/cgroup/cpu.max", "rubbish\n");
  root.write("/sys/fs/cgroup/memory.max", "\n");
  EXPECT_EQ(read_host({4, 1}, root.path()), (HostResources{MilliCpu{4000}, Bytes{64 * kGiB}, 1}));
}

TEST(Host, NumaNodesAreCounted) {
  const FakeRoot root;
  for (const char* name : {"node0", "node1", "node12", "power", "nodes"})
    fs::create_directories(root.path() + "/sys/devices/system/node/" + name);
  EXPECT_EQ(read_topology(root.path()).numa_nodes, 3);
}

TEST(Host, ThisMachineHasSomethingOfEach) {
  for (const Topology& topology : {read_topology(), read_topology_by_hwloc()}) {
    EXPECT_GE(topology.processors, 1);
    const HostResources host = read_host(topology);
    EXPECT_GT(host.cpu.count, 0);
    EXPECT_GT(host.memory.count, 0);
    EXPECT_GE(host.numa_nodes, 1);
  }
  EXPECT_LE(read_topology_by_hwloc().processors, read_topology().processors);
}

TEST(Host, AgentsThatShareItOfferEqualPartsAndRoomForAWorkerAtLeast) {
  const HostResources host{MilliCpu{8000}, Bytes{std::int64_t{16} << 30}, 2};
  EXPECT_EQ(share_of(host, 1), host);
  EXPECT_EQ(share_of(host, 4), (HostResources{MilliCpu{2000}, Bytes{std::int64_t{4} << 30}, 2}));
  EXPECT_EQ(share_of(host, 16), (HostResources{MilliCpu{1000}, Bytes{std::int64_t{2} << 30}, 2}));
  const HostResources tiny{MilliCpu{500}, Bytes{std::int64_t{1} << 30}, 1};
  EXPECT_EQ(share_of(tiny, 3), tiny);
}

}  // namespace
}  // namespace orrery::runtime
