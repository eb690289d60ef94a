// Where the cells of a sweep run: in processes of this machine, by any command, as a Slurm array.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/console/console.hpp"
#include "tools/orrery/sweep_plan.hpp"
#include "tools/sweep/sweep_store.hpp"

namespace orrery::cli {

/// How cells are started.
struct SweepLauncher {
  enum class Kind {
    Local,    ///< A process of this machine for each.
    Command,  ///< A command of the user for each, which runs `orrery sweep FILE --cells N`.
    Slurm     ///< One job array.
  };

  Kind kind = Kind::Local;
  std::string words;         ///< Command: its template. Slurm: options for sbatch.
  std::size_t parallel = 0;  ///< At the same time. 0: one per processor; Slurm: as it allows.
};

/// Takes `--launcher` apart: "local", "slurm [OPTIONS]", or a command. Errors: an empty text, a
/// name of Slurm's where this machine has no sbatch.
Result<SweepLauncher> launcher_of(const std::string& text);

/// A cell that did not come to its own end: it counts as not done.
struct FailedCell {
  std::size_t number = 0;
  ExitCode code = ExitCode::Unmet;
  std::string why;  ///< In words.
  std::string log;  ///< File with what it wrote; empty: it wrote to standard error.
};

/// Runs the cells of these numbers under a progress bar, and keeps each that comes to its own end.
/// Returns those that did not, in order; after an interrupt without those that were under way.
/// Errors: Slurm takes no job, a cell cannot be kept.
Result<std::vector<FailedCell>> launch_cells(const SweepPlan& plan,
                                             const SweepStore& store,
                                             const std::vector<std::size_t>& numbers,
                                             const SweepLauncher& launcher,
                                             Console& console);

/// One for all cells of a Slurm array; `launch_cells` calls it.
Result<std::vector<FailedCell>> launch_slurm_array(const SweepPlan& plan,
                                                   const SweepStore& store,
                                                   const std::vector<std::size_t>& numbers,
                                                   const SweepLauncher& launcher,
                                                   Console& console);

/// The command that runs some cells, with absolute paths; `cells` is put in as it is.
std::string cells_command(const SweepPlan& plan, const SweepStore& store, std::string_view cells);

/// The end of a file: its last line that is not empty; nothing where there is none.
std::string last_line_of(const std::filesystem::path& file);

}  // namespace orrery::cli
