#include "tools/console/forecast_options.hpp"

#include <cstdint>

namespace orrery::cli {

Result<ForecastQuestion> forecast_question(const Arguments& arguments) {
  ForecastQuestion out;
  Errors errors;
  const auto number = [&](const char* option, std::uint64_t usual, std::uint64_t high) {
    const auto text = arguments.value(option);
    if (!text) return usual;
    const auto value = whole_number(option, *text, 1, high);
    if (value) return *value;
    errors.insert(errors.end(), value.errors().begin(), value.errors().end());
    return usual;
  };
  out.runs = static_cast<std::uint32_t>(number("--runs", out.runs, kForecastRunsMax));
  out.seed = number("--seed", out.seed, INT64_MAX);
  // The choices of the option are the words of the enum.
  if (const auto arrivals = arguments.value("--arrivals"))
    out.arrivals = enum_from<Arrivals>(*arrivals).value_or(Arrivals::None);
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orrery::cli
