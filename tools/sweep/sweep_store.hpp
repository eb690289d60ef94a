// The folder of a sweep: what it depends on, and a file for each finished cell.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/result.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

/// What the results of a sweep depend on. Cells of another identity do not count.
struct SweepIdentity {
  std::string file;      ///< Absolute path of the sweep's file.
  std::string scenario;  ///< Path of the scenario.
  Digest file_text;
  Digest scenario_text;
  Digest program;
  Digest inputs;  ///< Of the files that the scenario names, at every point.
  std::size_t cells = 0;
};

/// How a cell ended by itself.
struct KeptCell {
  ExitCode code = ExitCode::Met;
  double wall_s = 0;   ///< On the machine that ran it.
  std::string answer;  ///< As the run sent it.
};

/// Who uses the folder.
enum class SweepAccess {
  Alone,  ///< The sweep itself: there is one at a time.
  Beside  ///< A process that runs some cells of it, next to others.
};

/// The folder of one sweep. Cells may be kept by several processes on several machines at once.
class SweepStore {
 public:
  /// Opens `folder`, which is made where it is not there. Errors (Conflict): it holds something
  /// else, another sweep, or this one with another file, scenario or program; another process
  /// writes there. InvalidInput: it cannot be made.
  static Result<SweepStore> open(const std::string& folder,
                                 const SweepIdentity& identity,
                                 SweepAccess access);

  /// Which cells of this identity `folder` has, in ascending order; none where it is no such
  /// folder. Changes nothing.
  static std::vector<std::size_t> finished(const std::string& folder,
                                           const SweepIdentity& identity);

  SweepStore(SweepStore&& other) noexcept;
  SweepStore& operator=(SweepStore&&) = delete;
  ~SweepStore();

  /// The finished cell of this number (from 1); nothing where there is none, or where its file is
  /// cut short, damaged or of another identity.
  std::optional<KeptCell> find(std::size_t number) const;

  /// Keeps a cell: a process that is killed meanwhile leaves the whole file or none. Errors: it
  /// cannot be written.
  Status keep(std::size_t number, const KeptCell& cell) const;

  /// Puts a file into the folder, whole or not at all. Errors: it cannot be written.
  Status put(const std::string& name, std::string_view text) const;

  /// Removes what killed processes have left half-written; nobody writes there any more.
  void remove_halves() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  SweepStore(std::filesystem::path folder, Digest key) : folder_(std::move(folder)), key_(key) {}

  std::filesystem::path folder_;
  Digest key_;     ///< Of the identity.
  int lock_ = -1;  ///< The kernel drops it with the process.
};

}  // namespace orrery::cli
