// The importer of Pollux profiles and workloads reads or refuses any bytes.
//
// The first byte chooses which file of a small application the rest replaces.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "sim/pollux/profiles.hpp"
#include "sim/pollux/workload.hpp"
#include "tests/system/fuzz/fuzz_folder.hpp"

namespace orrery::tests {
namespace {

struct NamedText {
  const char* name;
  const char* text;
};

constexpr const char* kRun =
    "progress,iteration,metric,grad_sqr,grad_var\n10,10,0.5,1,2\n20,20,0.6,1,2\n";

constexpr NamedText kFiles[] = {
    {"profiles/toy/placements.csv",
     "placement,local_bsz,step_time,sync_time\n1,8,0.5,0.1\n1,16,0.8,0.1\n11,8,0.7,0.3\n"},
    {"profiles/toy/scalability.csv",
     "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,6,8,0.9,0.4\n6,6,16,1.2,0.4\n"},
    {"profiles/toy/validation-16.csv", kRun},
    {"profiles/toy/validation-64.csv", kRun},
    {"workload.csv", "name,time,application,num_replicas,batch_size\ntoy-0,107,toy,2,32\n"},
};

void import(const FuzzFolder& folder, std::size_t replaced, std::string_view text) {
  folder.write(kFiles[replaced].name, text);
  const auto profiles = sim::read_pollux_profiles(folder.path() / "profiles");
  if (profiles) {
    (void)sim::read_pollux_workload(folder.path() / "workload.csv", *profiles);
  }
  folder.write(kFiles[replaced].name, kFiles[replaced].text);
}

}  // namespace
}  // namespace orrery::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::tests::kFiles;
  static const orrery::tests::FuzzFolder folder;
  static const bool written = [] {
    for (const auto& file : kFiles) folder.write(file.name, file.text);
    return true;
  }();
  if (!written || size == 0) return 0;
  const std::size_t replaced = data[0] % std::size(kFiles);
  orrery::tests::import(folder, replaced, {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
