// The readers of Batsim's workloads and events read or refuse any bytes, and every job that is read
// can be planned or is refused in words.
//
// The first byte chooses between workload, strict workload and events.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/invariant.hpp"
#include "core/job/spec.hpp"
#include "sim/import/batsim_events.hpp"
#include "sim/import/batsim_jobs.hpp"
#include "sim/import/resource_set.hpp"

namespace orrery::sim {
namespace {

// Larger workloads are sound, and only take their time.
constexpr std::int64_t kHostsMax = 10'000;

void check_sound(const ModelJob& job) {
  invariant(check_spec(*job.spec).empty(), "the controller accepts what was read");
  invariant(job.work.units > 0 && job.work.base_rate > 0, "there is work, and it is done");
  invariant(job.submit >= Instant::zero(), "nothing is submitted before the beginning");
}

void read_workload(std::string_view text, BatsimNames names) {
  const auto file = parse_batsim(text, "fuzz.json", names);
  if (!file) return invariant(!file.errors().empty(), "a refusal has words");
  std::int64_t hosts = 0;
  for (const BatsimJob& job : file->jobs) hosts += job.hosts;
  if (hosts > kHostsMax) return;
  const auto jobs = BatsimJobs::plan(*file, {1e9, {}});
  if (!jobs) return;
  invariant(jobs->size() == file->jobs.size(), "every job is planned");
  Instant last;
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    const ModelJob job = jobs->make(i, 1);
    check_sound(job);
    invariant(job.submit >= last, "jobs come in order");
    last = job.submit;
  }
}

void read_events(std::string_view text) {
  const auto events = parse_batsim_events(text, "fuzz.txt");
  if (!events) return;
  invariant(events->lines == events->events.size() + events->passed_over,
            "every event is about machines or passed over");
  for (const BatsimMachineEvent& event : events->events)
    invariant(ResourceSet::parse(event.resources.text()) == event.resources,
              "a set in its canonical form is read back");
  static_cast<void>(faults_of(*events, 1000));
}

}  // namespace
}  // namespace orrery::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::sim;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0)
    read_workload(text, BatsimNames::Lenient);
  else if (data[0] % 3 == 1)
    read_workload(text, BatsimNames::Strict);
  else
    read_events(text);
  return 0;
}
