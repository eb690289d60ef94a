#include "core/queues/queue_spec.hpp"

#include <algorithm>

#include "core/base/amount_text.hpp"
#include "core/base/number_text.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kWhole = 1000;
constexpr std::int64_t kDevicesMax = 1'000'000;

// Up to three decimals, exactly.
std::optional<std::int64_t> thousandths_in(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto whole = parsed_number<std::int64_t>(text.substr(0, dot));
  if (!whole || *whole < 0 || *whole > kDevicesMax || text.front() == '-') return std::nullopt;
  if (dot == std::string_view::npos) return *whole * kWhole;
  std::string decimals(text.substr(dot + 1));
  if (decimals.empty() || decimals.size() > 3 || decimals.front() == '-') return std::nullopt;
  decimals.resize(3, '0');
  const auto part = parsed_number<std::int64_t>(decimals);
  if (!part) return std::nullopt;
  return *whole * kWhole + *part;
}

}  // namespace

// Thousandths of the cluster are tenths of a percent.
std::int64_t QueueAmount::of(std::int64_t total) const {
  __extension__ using Wide = __int128;
  if (!of_cluster) return thousandths;
  return static_cast<std::int64_t>(static_cast<Wide>(total) * thousandths / kWhole);
}

std::string QueueAmount::text() const {
  return of_cluster ? thousandths_text(thousandths * 100) + "%" : thousandths_text(thousandths);
}

std::optional<QueueAmount> queue_amount(std::string_view text) {
  const bool of_cluster = text.ends_with('%');
  if (of_cluster) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  const auto read = thousandths_in(text);
  if (!read) return std::nullopt;
  if (!of_cluster) return QueueAmount{*read, false};
  // "12.5" percent are 125 thousandths of the cluster.
  if (*read % 100 != 0 || *read > 100 * kWhole) return std::nullopt;
  return QueueAmount{*read / 100, true};
}

}  // namespace orrery
