#include "tools/console/calibration_table.hpp"

#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

Cell seconds(double value) { return {with_commas(value, value < 10 ? 4 : 2), value}; }

Cell percent(const std::optional<double>& part) {
  return part ? Cell{with_commas(*part * 100, 1), *part} : Cell{"-", 0};
}

}  // namespace

std::string calibration_table(const std::vector<CalibrationRow>& rows,
                              const ConsoleTraits& traits) {
  Table table({{.title = "time", .left = true},
               {.title = "samples"},
               {.title = "p10 s"},
               {.title = "median s"},
               {.title = "p90 s"},
               {.title = "held-out error %", .spare = 1},
               {.title = "held out in p10-p90 %", .spare = 2}});
  for (const CalibrationRow& row : rows)
    table.add_row({{row.name, 0},
                   {std::to_string(row.samples), static_cast<double>(row.samples)},
                   seconds(row.p10_s),
                   seconds(row.p50_s),
                   seconds(row.p90_s),
                   percent(row.error_p50),
                   percent(row.inside)});
  return table.text(false, traits.table_width());
}

}  // namespace orrery::cli
