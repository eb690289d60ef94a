// The reader of the Philly extract reads or refuses any bytes, and accounts for every row.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/invariant.hpp"
#include "sim/traces/philly_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const sim::OddRows choice : {sim::OddRows::Keep, sim::OddRows::Drop}) {
    const auto trace =
        sim::parse_philly_csv(text, "fuzz.csv", {.duplicates = choice, .zero_gpus = choice});
    if (!trace) continue;
    invariant(trace->report.rows == trace->report.jobs + trace->report.dropped(),
              "every row is a job or dropped for one reason");
  }
  return 0;
}
