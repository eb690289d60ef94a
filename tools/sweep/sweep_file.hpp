// A sweep as its file says it: a scenario, parameters with their values, policies and seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/loader.hpp"

namespace orrery::cli {

/// One value of one path of the scenario.
struct SweepSetting {
  scenarios::Override override;  ///< The value as YAML.
  std::string label;             ///< The value as tables show it: a text without its quotes.
  int line = 0;                  ///< Of the sweep's file.
};

/// One policy of a sweep.
struct SweepPolicy {
  std::string name;   ///< As `orrery policies` lists it.
  std::string label;  ///< The name, and its parameters where it has some: "easy backfill_depth=4".
  std::string value;  ///< What the scenario's key `policy` is set to; empty: the scenario's own.
  int line = 0;       ///< 0: the scenario's own.
};

/// The values of all parameters at one point. Nothing: the scenario's own value.
using SweepPoint = std::vector<std::optional<SweepSetting>>;

/// What a sweep's file says. The cells are all combinations of points, policies and seeds.
struct SweepFile {
  std::string file;                     ///< As it was given.
  std::string name;                     ///< Default: the file's name without folder and extension.
  std::string description;              ///< What it shows; may be empty.
  std::string scenario;                 ///< Path, from the current directory.
  int scenario_line = 0;                ///< Where the file names it.
  std::vector<SweepSetting> fixed;      ///< Set in every cell, before the parameters.
  std::vector<std::string> parameters;  ///< Their paths, in the order of the file.
  std::vector<SweepPoint> points;       ///< At least one, each as long as `parameters`.
  std::vector<SweepPolicy> policies;    ///< Empty: the scenario's.
  std::vector<std::uint64_t> seeds;     ///< Empty: the scenario's.
};

/// Most cells of a sweep.
inline constexpr std::size_t kSweepCellsMax = 100'000;

/// Reads the text of a sweep's file. A point of a grid stands for each combination of its values,
/// the first parameter varying slowest. Errors, with their lines, all at once: no YAML, unknown or
/// missing keys, a grid or a list without values, both or neither of them, one value set twice (by
/// two keys, or by a path above another), too many cells. Whether the scenario exists and has such
/// paths is not looked at.
Result<SweepFile> read_sweep(std::string_view text, const std::string& file);

/// Whether a text is a sweep's file rather than a scenario: it names one.
bool is_sweep(std::string_view text);

/// One run of a sweep.
struct SweepCell {
  std::size_t number = 1;  ///< From 1, in the order of the table.
  std::size_t point = 0;   ///< Indices into the parts of the file.
  std::size_t policy = 0;
  std::uint64_t seed = 0;
};

/// All cells: points outermost, then policies, then seeds. Policies and seeds are not empty.
std::vector<SweepCell> cells_of(const SweepFile& sweep);

/// What a cell changes in the scenario, in this order: the policy, what is fixed, the parameters.
/// The seed is not among them.
std::vector<scenarios::Override> overrides_of(const SweepFile& sweep,
                                              std::size_t point,
                                              std::size_t policy);

/// "cluster.nodes=8, policy easy, seed 3": a cell for people.
std::string words_of(const SweepFile& sweep, const SweepCell& cell);

/// The command that runs a cell by itself.
std::string command_of(const SweepFile& sweep, const SweepCell& cell);

}  // namespace orrery::cli
