// The files that one run leaves behind.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"
#include "tools/orrery/run_listeners.hpp"

namespace orrery::cli {

/// Writes the files that the scenario's `outputs.formats` name; docs/results.md describes them.
/// What no output needs is not recorded either.
class RunFiles {
 public:
  /// The folder exists, or is empty: nothing is kept. The scenario outlives the files. `faults` are
  /// those of the scenario as it is played, by index; its random ones are found without.
  RunFiles(const scenarios::Scenario& scenario,
           std::filesystem::path folder,
           std::vector<scenarios::Fault> faults);

  /// Adds the listeners of the run.
  void listen(std::vector<sim::RunListener*>& listeners);

  /// Writes what is left to write at the end; adds to `warnings` what a file could not hold.
  Status finish(const sim::RunReport& report, std::vector<std::string>& warnings);

 private:
  using OutputFormat = scenarios::OutputFormat;

  bool wants(OutputFormat format) const { return scenario_.outputs.wants(format); }

  Status finish_events();
  Status write_perfetto(const sim::Timeline& timeline,
                        const sim::JobTable& jobs,
                        std::vector<std::string>& warnings) const;
  Status write_report(const sim::RunReport& report, const sim::Timeline& timeline) const;
  Status write_timeline(const sim::RunReport& report, std::vector<std::string>& warnings);
  Status stream(std::string_view name, const std::function<void(std::ostream&)>& write) const;

  const scenarios::Scenario& scenario_;
  std::filesystem::path folder_;
  std::vector<scenarios::Fault> faults_;
  std::ofstream events_file_;
  std::optional<EventWriter> events_;
  std::optional<TimelineListener> timeline_;
  std::optional<NotesListener> notes_;
};

}  // namespace orrery::cli
