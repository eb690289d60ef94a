// What is asked of a forecast and what it answers, as data: the same for the simulators, which make
// it, for a controller, which passes it on, and for clients, which show it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Where it is known from how long a job still runs. The state alone is asked.
enum class RemainingKnown : std::uint8_t {
  Oracle,    ///< Its last report, which knows.
  Measured,  ///< Its last report, which estimates.
  Declared,  ///< The run time that its user stated, less what it has run.
  History,   ///< The median of the jobs of the state that succeeded.
  Nothing,   ///< No job of the state has come to its end: an hour, or as long again as it has run.
};

/// Which jobs arrive while a forecast runs.
enum class Arrivals : std::uint8_t {
  None,    ///< None but the one that is asked about.
  Recent,  ///< Jobs and gaps between them, drawn from those of the state.
};

/// Most runs of one forecast.
inline constexpr std::uint32_t kForecastRunsMax = 100;

/// What is asked of a state.
struct ForecastQuestion {
  JobId job;                                 ///< Of the state; none: `submitted`, or all.
  std::shared_ptr<const JobSpec> submitted;  ///< A job that nobody has submitted; may be null.
  std::uint32_t runs = 1;                    ///< 1: nothing is drawn but arrivals; at most
                                             ///< `kForecastRunsMax`.
  Arrivals arrivals = Arrivals::None;
  std::uint64_t seed = 1;                 ///< Of what is drawn.
  std::uint64_t records_max = 2'000'000;  ///< Each run ends after so many records.
};

/// An instant over all runs: a tenth, half and nine tenths of them are not later. Never: not
/// foreseen.
struct Spread {
  Instant p10 = Instant::never();
  Instant p50 = Instant::never();
  Instant p90 = Instant::never();

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("p10", self.p10);
    v.field("p50", self.p50);
    v.field("p90", self.p90);
  }
};

/// Each quantile is one of the instants, the smallest that so many are not later than. `instants`
/// is put in order; at least one.
Spread spread_of(std::span<Instant> instants);

/// What is foretold of one job.
struct ForetoldJob {
  JobId id;           ///< None: it is not submitted.
  std::string name;   ///< Full.
  bool runs = false;  ///< It holds devices already.
  RemainingKnown known = RemainingKnown::Nothing;
  Duration remaining;  ///< At its usual size.
  Spread start;
  Spread end;
  bool succeeds = false;           ///< In the first run, as all below.
  std::vector<std::string> nodes;  ///< Where it starts; numbers where nodes have no names.
  std::string waits_for;           ///< In words, at the fork; empty: it runs.
  bool never_fits = false;         ///< On the declared nodes.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("id", self.id);
    v.field("name", self.name);
    v.field("runs", self.runs);
    v.field("known", self.known);
    v.field("remaining", self.remaining);
    v.field("start", self.start);
    v.field("end", self.end);
    v.field("succeeds", self.succeeds);
    v.field("nodes", self.nodes);
    v.field("waits_for", self.waits_for);
    v.field("never_fits", self.never_fits);
  }
};

/// A job that ends later because of another one.
struct ForetoldDelay {
  std::string name;                   ///< Full.
  Duration by = Duration::forever();  ///< Half of the runs do not delay it longer; forever: it
                                      ///< does not end any more.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("by", self.by);
  }
};

/// What is foretold of a state.
struct ForecastAnswer {
  Instant now;                        ///< Of the state, on the controller's clock.
  Sequence sequence;                  ///< Last record that the state contains.
  std::vector<ForetoldJob> jobs;      ///< That the question is about, by id.
  bool has_delays = false;            ///< The question is about one job that waits.
  std::vector<ForetoldDelay> delays;  ///< The longest first.
  std::uint32_t runs = 1;
  std::uint64_t records = 0;  ///< That the longest run took.
  bool cut_short = false;     ///< A run took as many as it may.
  std::string refused;        ///< Why the job that was asked for would be refused; else empty.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("now", self.now);
    v.field("sequence", self.sequence);
    v.field("jobs", self.jobs);
    v.field("has_delays", self.has_delays);
    v.field("delays", self.delays);
    v.field("runs", self.runs);
    v.field("records", self.records);
    v.field("cut_short", self.cut_short);
    v.field("refused", self.refused);
  }
};

template <>
struct EnumNames<RemainingKnown> {
  static constexpr std::array kNames{"oracle", "measured", "declared", "history", "nothing"};
};

template <>
struct EnumNames<Arrivals> {
  static constexpr std::array kNames{"none", "recent"};
};

}  // namespace orrery
