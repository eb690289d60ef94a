// The scenario loader takes any bytes: it gives a scenario or errors with words, and never throws.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "scenarios/language/loader.hpp"

/// The first line beginning with "--set " is an override; the rest is the document.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<orrery::scenarios::Override> overrides;
  if (text.starts_with("--set ")) {
    const std::size_t end = text.find('\n');
    const auto override = orrery::scenarios::parse_override(text.substr(6, end - 6));
    if (override) overrides.push_back(*override);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  const auto scenario = orrery::scenarios::parse_scenario(text, "fuzz.yaml", overrides);
  if (scenario) return 0;
  for (const orrery::Error& error : scenario.errors())
    invariant(!error.message.empty(), "every error has words");
  return 0;
}
