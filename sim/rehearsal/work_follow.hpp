// How far a recorded job's work had come at each of its facts: what was expected by what it told
// before, and what it then said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "scenarios/language/spec/work.hpp"
#include "sim/rehearsal/recorded_run.hpp"
#include "sim/rehearsal/standstill.hpp"

namespace orrery::sim {

/// A time that was lost between two reports, in seconds, and what it may have been.
struct Losses {
  std::vector<Duration> pauses;        ///< After a change of membership while work went on;
  std::vector<Duration> pauses_least;  ///< of these it is known that they were longer, or as long.
  std::vector<double> saved_after_s;   ///< From the begin of work to what was saved.
  std::vector<double> lost_s;          ///< From there to the failure.
  std::vector<Instant> from;           ///< The report before,
  std::vector<Instant> to;             ///< and the one after.

  /// What a change costs: usually, else what is `said`, or at least where no more is known.
  Duration pause(std::optional<Duration> said) const;
};

/// How a job goes on where reports do not tell.
struct WorkHabits {
  bool waits_for_all = false;  ///< It stands still while some member is missing.
  bool keeps_rate = false;     ///< A size of which it told no rate has the one told last.
};

/// Follows the work of one job through its facts.
class WorkFollow {
 public:
  /// `run` has the job. `losses` may be null.
  WorkFollow(const RecordedRun& run,
             const RecordedJob& job,
             Duration pause,
             WorkHabits habits,
             Losses* losses);

  void run();

  /// The journal ends, and the job had not.
  void go_on_to(Instant end) {
    if (!ended_) advance(end);
  }

  bool reports() const { return reports_; }

  bool ended() const { return ended_; }

  /// Whether each size had one rate, and reports said what these lead to.
  bool is_exact() const { return reports_ && exact_; }

  /// Work done so far.
  double done() const { return done_; }

  /// The most that it ever told, which failures may have taken back since.
  double told_most() const { return told_most_; }

  /// Seconds of work by which reports were other than expected, losses included that no report
  /// told.
  double unexpected_s() const { return unexpected_s_; }

  /// Time during which work went on.
  double worked_s() const { return worked_s_; }

  double last_rate() const { return rate_; }

  std::int32_t last_size() const { return size_; }

  const std::map<std::int32_t, double>& rates() const { return rates_; }

  /// Units per second of each size, over all the time at that size.
  std::map<std::int32_t, double> mean_rates() const;

  Instant as_of() const { return as_of_; }

  /// All units, as the job itself said; 0: it did not.
  double said() const { return said_; }

 private:
  /// The first time since the last report that a member was missing.
  struct Break {
    Instant at;
    double done = 0;  ///< By then.
  };

  /// Work that a failure took; 0: none, or it is not known how much.
  struct Taken {
    double units = 0;
    Instant at;  ///< When it failed; where nothing was saved meanwhile: when the work began.
    bool by_next = false;  ///< The next report tells it, with the rate of before.
    double meanwhile = 0;  ///< Units that those left did who count as gone.
  };

  struct Pause {
    bool may_last = false;  ///< It may not be over.
    Duration took;          ///< Zero: not known.
  };

  void find_rates();
  std::optional<double> said_in_all() const;
  double rate_at(std::int32_t size) const;
  void advance(Instant to);
  void members(const WorkFact& fact);
  void go_at(Instant from, double rate);
  /// How long the pauses since the last report were, where the job had done so much by `at`.
  Pause pause_until(double done, Instant at) const;
  void note(const Pause& pause);
  /// `next` is the fact after the report, or null.
  Taken taken_back(const WorkFact& fact, const WorkFact* next) const;
  bool tells_of_a_loss(const WorkFact& fact) const;
  double done_by_those_left(const WorkFact& fact) const;
  /// Whether something failed since the last report that may have taken work.
  bool may_be_back(const WorkFact& fact) const;
  double expected_at(Instant at) const;
  void lose(const WorkFact& fact, const Taken& taken);
  void report(const WorkFact& fact, const WorkFact* next);

  const RecordedRun& run_;
  const RecordedJob& job_;
  Duration pause_;
  WorkHabits habits_;
  Losses* losses_;
  std::map<std::int32_t, double> rates_;
  scenarios::WorkSpec speeds_;  ///< By `rates_`, of all sizes; only where there are any.
  std::map<std::int32_t, double> gained_at_;
  std::map<std::int32_t, double> seconds_at_;
  bool reports_ = false;
  bool exact_ = true;
  bool ended_ = false;
  bool working_ = false;
  bool whole_ = false;
  bool goes_on_ = false;  ///< It works, and waits for nobody.
  double done_ = 0;
  double told_most_ = 0;
  double told_ = 0;  ///< What it had done at the last report.
  double rate_ = 0;
  double early_ = 0;  ///< Reported before all workers were ready, for when they are.
  double unexpected_s_ = 0;
  double worked_s_ = 0;
  double said_ = 0;
  std::int32_t size_ = 0;
  std::int32_t first_size_ = 0;
  Generation generation_;
  std::optional<double> saved_;  ///< In the last checkpoint that was told.
  std::optional<Break> broken_;
  std::vector<WorkStretch> stretches_;  ///< Since the last report.
  std::vector<Instant> changes_;        ///< Whose pauses may reach beyond the last report.
  Instant as_of_;
  Instant told_at_;
  Instant whole_at_;
  Instant working_since_;
  Instant paused_until_;
  bool is_told_as_lost_ = false;  ///< What the next report tells.
};

/// What most samples are, else their median; nothing where there are none.
std::optional<Duration> usual(std::vector<Duration> samples);

/// `pause_said`: see Losses::pause. The habits by which reports are least unexpected where each
/// change of membership costs what it seems to; of several those with the shortest such pause, and
/// then those of a job that goes on with the workers that are left, each size at a rate of its own.
WorkHabits habits_of(const RecordedRun& run,
                     const RecordedJob& job,
                     std::optional<Duration> pause_said);

/// When a worker of the job ended by itself first, or any node or device was lost, from `from` to
/// `to`; never: none.
Instant first_failure(const RecordedRun& run, const RecordedJob& job, Instant from, Instant to);

}  // namespace orrery::sim
