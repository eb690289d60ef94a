// The reader of the Philly job log reads or refuses any bytes, and accounts for every record.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/invariant.hpp"
#include "sim/traces/philly_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const sim::OddRows choice : {sim::OddRows::Keep, sim::OddRows::Drop}) {
    const auto trace = sim::parse_philly_json(
        text, "fuzz.json", {.duplicates = choice, .zero_gpus = choice, .censored = choice});
    if (!trace) continue;
    invariant(trace->report.rows == trace->report.jobs + trace->report.dropped(),
              "every record is a job or dropped for one reason");
  }
  return 0;
}
