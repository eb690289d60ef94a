#include "core/cluster/port_range.hpp"

#include "core/base/number_text.hpp"

namespace orrery {

std::optional<PortRange> parse_port_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  const auto first = parsed_number<std::int32_t>(text.substr(0, dash));
  const auto last = parsed_number<std::int32_t>(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first || *last > kPortMax) return std::nullopt;
  return PortRange{*first, *last - *first + 1};
}

}  // namespace orrery
