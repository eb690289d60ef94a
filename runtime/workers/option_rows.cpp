#include "runtime/workers/option_rows.hpp"

#include <charconv>
#include <cmath>

namespace orrery::worker {

Result<std::chrono::milliseconds> time_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const double factor = unit == "ms" ? 1 : unit == "s" ? 1e3 : unit == "m" ? 60e3 : 0;
  const double time = value * factor;
  if (error != std::errc() || factor == 0 || !(time >= 0 && time <= 24 * 3600e3))
    return refused_option(text, "needs a time of at most a day, such as 250ms, 1.5s or 2m");
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(time)));
}

}  // namespace orrery::worker
