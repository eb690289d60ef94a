// The finished runs of a comparison, kept in its folder until all are there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "tools/orrery/child_pool.hpp"

namespace orrery::cli {

/// What a run depends on beside its policy and seed: this very program, the scenario's text with
/// its overrides, and the files that it names, by size and time of change.
Digest input_digest(const scenarios::Scenario& scenario,
                    const std::vector<scenarios::Override>& overrides);

/// What tells this very program from every other: its version, and the file's size and time of
/// change.
Digest program_digest();

/// Files of a folder, one for each finished run.
class KeptRuns {
 public:
  /// `folder` need not exist; `input` as above.
  KeptRuns(std::filesystem::path folder, Digest input)
      : folder_(std::move(folder)), input_(input) {}

  /// How the run of this name ended, if it is kept and had the same input.
  std::optional<TaskEnd> find(const std::string& name) const;

  /// Keeps a run that has ended by itself; a process that is killed meanwhile leaves the whole file
  /// or none. Where it cannot be written the run will only be done again.
  void keep(const std::string& name, const TaskEnd& end) const;

  /// Removes all that is kept.
  void remove() const;

 private:
  std::filesystem::path folder_;
  Digest input_;
};

}  // namespace orrery::cli
