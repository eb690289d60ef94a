#include "scenarios/language/yaml/quantities.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "core/base/number_text.hpp"

namespace orrery::scenarios {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// `number` times `factor` in exact decimal arithmetic, rounded down; nothing where `number` is not
/// a plain non-negative decimal or the product does not fit.
std::optional<std::int64_t> scale(std::string_view number, std::int64_t factor) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  const std::size_t dot = number.find('.');
  const std::string_view whole = number.substr(0, dot);
  const std::string_view part =
      dot == std::string_view::npos ? std::string_view{} : number.substr(dot + 1);
  if (whole.empty() || (dot != std::string_view::npos && part.empty())) return std::nullopt;
  __int128 value = 0;
  for (char c : whole) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > kMax) return std::nullopt;
  }
  value *= factor;
  __int128 place = factor;
  __int128 rest = 0;  // In units of factor / 10^18, so that no digit is rounded twice.
  constexpr __int128 kFine = 1'000'000'000'000'000'000;
  __int128 weight = kFine;
  for (char c : part) {
    if (!is_digit(c)) return std::nullopt;
    weight /= 10;
    rest += (c - '0') * weight;
  }
  value += rest * place / kFine;
  if (value > kMax) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> with_unit(std::string_view text, std::span<const Unit> units) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  const std::string_view name = text.substr(end);
  for (const Unit& unit : units)
    if (unit.name == name) return scale(text.substr(0, end), unit.factor);
  return std::nullopt;
}

constexpr std::int64_t kKibi = 1024;

constexpr std::array kTimeUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"min", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
    Unit{"d", 86'400'000'000'000},
};

constexpr std::array kDecimalPrefixes{
    Unit{"", 1},
    Unit{"k", 1'000},
    Unit{"M", 1'000'000},
    Unit{"G", 1'000'000'000},
    Unit{"T", 1'000'000'000'000},
};

constexpr std::array kBinaryPrefixes{
    Unit{"Ki", kKibi},
    Unit{"Mi", kKibi* kKibi},
    Unit{"Gi", kKibi* kKibi* kKibi},
    Unit{"Ti", kKibi* kKibi* kKibi* kKibi},
};

constexpr std::array kComputeUnits{
    Unit{"MFLOPS", 1'000'000},
    Unit{"GFLOPS", 1'000'000'000},
    Unit{"TFLOPS", 1'000'000'000'000},
    Unit{"PFLOPS", 1'000'000'000'000'000},
};

constexpr std::array kCpuUnits{Unit{"", 1000}, Unit{"m", 1}};

/// A number with a decimal or binary prefix, or none.
std::optional<std::int64_t> with_prefix(std::string_view text) {
  const auto decimal = with_unit(text, kDecimalPrefixes);
  return decimal ? decimal : with_unit(text, kBinaryPrefixes);
}

/// Takes `suffix` off the end of `text`; false where it does not stand there.
bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const auto ns = with_unit(text, kTimeUnits);
  if (!ns) return std::nullopt;
  return Duration{*ns};
}

std::optional<Bytes> parse_size(std::string_view text) {
  return take_suffix(text, "B") ? parse_kubernetes_size(text) : std::nullopt;
}

std::optional<double> parse_bandwidth(std::string_view text) {
  const bool bits = take_suffix(text, "bit/s") || take_suffix(text, "b/s");
  if (!bits && !take_suffix(text, "B/s")) return std::nullopt;
  const auto count = bits ? with_unit(text, kDecimalPrefixes) : with_prefix(text);
  if (!count) return std::nullopt;
  return static_cast<double>(*count) / (bits ? 8 : 1);
}

std::optional<double> parse_compute(std::string_view text) {
  const auto flops = with_unit(text, kComputeUnits);
  if (!flops) return std::nullopt;
  return static_cast<double>(*flops);
}

std::optional<MilliCpu> parse_cpu(std::string_view text) {
  const auto count = with_unit(text, kCpuUnits);
  if (!count) return std::nullopt;
  return MilliCpu{*count};
}

std::optional<Bytes> parse_kubernetes_size(std::string_view text) {
  const auto count = with_prefix(text);
  if (!count) return std::nullopt;
  return Bytes{*count};
}

std::optional<DeviceAmount> parse_devices(std::string_view text) {
  const auto thousandths = scale(text, 1000);
  if (!thousandths || *thousandths > 64'000) return std::nullopt;
  const auto devices = static_cast<std::int32_t>(*thousandths / 1000);
  const auto rest = static_cast<std::int32_t>(*thousandths % 1000);
  const std::size_t dot = std::min(text.find('.'), text.size());
  if (text.find_first_of("123456789", dot) == std::string_view::npos)
    return DeviceAmount{devices, Share{}};
  // Less than a thousandth is not none.
  if (devices > 0 || rest == 0) return std::nullopt;
  return DeviceAmount{1, Share{rest}};
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parsed_number<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) { return parsed_number<double>(text); }

}  // namespace orrery::scenarios
