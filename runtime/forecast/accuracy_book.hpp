// Keeps what was foretold of jobs when they were submitted, and what came.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "runtime/forecast/forecasts.hpp"

namespace orrery::runtime {

/// In memory, and in a file beside the journal, where one is named. Each of its lines has a job's
/// number, four instants in nanoseconds (submitted, foretold at, foretold, started) and its name;
/// one is appended when a start was foretold, where the last instant is "-", and one when it has
/// come. A line that cannot be read, such as one that a crash has cut, is passed over. The file is
/// written anew when it is opened, with what is kept. One thread at a time.
class AccuracyBook {
 public:
  /// `file` empty: nothing outlives the process.
  explicit AccuracyBook(std::string file) : file_(std::move(file)) {}

  /// Reads what is there. Errors: a file that cannot be read or written; the book goes on without.
  Status open();

  /// Notes the first forecast of a job; later ones of the same job are passed over.
  void foretold(const ForecastOutcome& outcome);

  /// What has come of the jobs that were foretold; they wait no more, and are to be noted. One that
  /// is gone, or was over before it ever started, is forgotten. Touches no file.
  std::vector<ForecastOutcome> look(const State& state);

  /// Keeps an outcome.
  void note(const ForecastOutcome& outcome);

  bool knows(JobId job) const { return waiting_.contains(job); }

  std::size_t waiting() const { return waiting_.size(); }

  ForecastAccuracy accuracy() const;

 private:
  void append(const ForecastOutcome& outcome);
  void take(const ForecastOutcome& outcome);

  std::string file_;
  std::map<JobId, ForecastOutcome> waiting_;
  std::deque<ForecastOutcome> outcomes_;  ///< The oldest first.
};

}  // namespace orrery::runtime
