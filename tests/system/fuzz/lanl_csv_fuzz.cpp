// The reader of failure records reads or refuses any bytes, and summarises what it read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/invariant.hpp"
#include "sim/traces/lanl_failures.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const auto records =
      sim::parse_lanl_failures({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
  if (!records) return 0;
  const sim::LanlSummary summary = sim::summarise(*records);
  std::uint64_t sum = 0;
  for (const std::uint64_t count : summary.by_cause) sum += count;
  invariant(sum == records->failures.size(), "every record has one cause or none");
  return summary.text().empty() ? 1 : 0;
}
