#include "tools/sweep/sweep_table.hpp"

#include <array>
#include <charconv>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "sim/reports/csv_text.hpp"

namespace orrery::cli {
namespace {

/// Visits the fields of a summary: their names, or their values.
class SummaryFields {
 public:
  SummaryFields(bool names, std::string& out) : names_(names), out_(out) {}

  template <class T>
  void field(std::string_view name, const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (name == "seed") return;
      put(name, value);
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      if (name == "unmet") put(name, value.size());
    } else if constexpr (std::same_as<T, std::string>) {
      if (name == "state_digest") put_text(name, value);
    }
  }

 private:
  template <class Number>
  void put(std::string_view name, Number value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    put_text(name, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  void put_text(std::string_view name, std::string_view value) {
    out_ += ',';
    sim::append_csv_text(names_ ? name : value, out_);
  }

  bool names_;
  std::string& out_;
};

}  // namespace

std::string sweep_csv(const SweepFile& sweep, const std::vector<SweepResult>& results) {
  std::string out = "cell";
  for (const std::string& parameter : sweep.parameters) {
    out += ',';
    sim::append_csv_text(parameter, out);
  }
  out += ",policy,seed,exit";
  SummaryFields names(true, out);
  const sim::Summary none;
  sim::Summary::fields(none, names);
  out += '\n';
  for (const SweepResult& result : results) {
    out += std::to_string(result.cell.number);
    for (const auto& setting : sweep.points[result.cell.point]) {
      out += ',';
      if (setting) sim::append_csv_text(setting->label, out);
    }
    out += ',';
    sim::append_csv_text(sweep.policies[result.cell.policy].label, out);
    out += ',' + std::to_string(result.cell.seed) + ',' + std::to_string(result.exit_code);
    SummaryFields values(false, out);
    sim::Summary::fields(result.summary, values);
    out += '\n';
  }
  return out;
}

}  // namespace orrery::cli
