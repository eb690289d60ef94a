// Traces that are written and read back are equal but for what is said to be lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/random.hpp"
#include "sim/traces/formats.hpp"
#include "sim/traces/swf.hpp"
#include "sim/traces/trace_target.hpp"
#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace convert_tests {

using testing::IsEmpty;

constexpr std::uint64_t kSeeds = 200;

/// How rich the jobs of a generated trace are.
enum class Fields {
  Plain,  ///< What every form holds: whole seconds, devices.
  Swf,    ///< What SWF holds.
  All,
};

std::string text_of(Random& random) {
  constexpr std::string_view kLetters = "abcXYZ019 ,%\"|-_.\n\t\xc3\xa9";
  std::string out;
  for (std::uint64_t length = random.below(12); length > 0; --length)
    out += kLetters[random.below(kLetters.size())];
  return out;
}

Duration time_of(Random& random, std::uint64_t seconds, bool whole) {
  const auto ns = static_cast<std::int64_t>(random.below(seconds * 1'000'000'000));
  return whole ? Duration::seconds(ns / 1'000'000'000) : Duration::nanoseconds(ns);
}

TraceJob job_of(Random& random, std::size_t number, Fields fields) {
  TraceJob job;
  job.name = std::to_string(number);
  job.gpus = static_cast<int>(1 + random.below(64));
  job.gpu_milli = 1000 * job.gpus;
  job.duration = time_of(random, 400'000, fields == Fields::Plain) + Duration::seconds(1);
  if (fields == Fields::Plain) return job;
  if (random.below(2) == 0) job.estimate = time_of(random, 500'000, false) + Duration::seconds(1);
  if (random.below(2) == 0) job.waited = time_of(random, 50'000, false);
  if (random.below(2) == 0) job.user = std::to_string(random.below(20));
  if (random.below(2) == 0) job.kind = std::to_string(random.below(3));
  if (random.below(2) == 0) job.vc = std::to_string(random.below(3));
  job.memory_mib = static_cast<std::int64_t>(random.below(3)) * 1024 * job.gpus;
  job.status = static_cast<TraceStatus>(random.below(4));
  if (fields == Fields::Swf) return job;
  job.name += "x" + text_of(random);
  if (random.below(4) == 0) job.gpus = 0;
  job.instances = static_cast<int>(1 + random.below(16));
  job.gpu_milli = job.gpus == 0 ? 0 : random.between(job.gpus, std::int64_t{1000} * job.gpus);
  job.cpu_milli = static_cast<std::int64_t>(random.below(3)) * 6400;
  job.memory_mib = static_cast<std::int64_t>(random.below(100'000));
  job.models = text_of(random);
  job.kind = text_of(random);
  job.vc = text_of(random);
  job.user = text_of(random);
  job.censored = random.below(3) == 0;
  if (random.below(2) == 0) job.weight = 0.125 + static_cast<double>(random.below(1000)) / 7;
  return job;
}

Trace trace_of(std::uint64_t seed, Fields fields) {
  Random random = Random::stream(seed, "traces");
  std::vector<TraceJob> jobs;
  // Where Philly's times are in no doubt: winter 2016 to 2017, whole seconds when plain.
  const Instant start = Instant::zero() + Duration::seconds(1'480'000'000);
  for (std::size_t number = random.below(40); number > 0; --number) {
    jobs.push_back(job_of(random, 0, fields));
    jobs.back().submit = start + time_of(random, 5'000'000, fields == Fields::Plain);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) {
    return a.submit < b.submit;
  });
  for (std::size_t at = 0; at < jobs.size(); ++at)
    jobs[at].name = std::to_string(at + 1) + jobs[at].name.substr(1);
  return finish_trace(std::move(jobs), {});
}

Trace read_back(const std::string& target, const TraceText& written) {
  auto trace = read_trace(
      *find_trace_format(target), "back", written.text, "", kKeepAll, [](const auto&, auto) {
        return Result<std::string>(Error{.message = "no table is needed"});
      });
  expect_accounted(trace);
  if (!trace) return {};
  EXPECT_EQ(trace->report.dropped(), 0U);
  return *std::move(trace);
}

std::string losses_of(const TraceText& written) {
  std::string out;
  for (const TraceLoss& loss : written.losses) out += loss.what + "; ";
  return out;
}

bool loses(const TraceText& written, std::string_view what) {
  return std::ranges::any_of(written.losses,
                             [&](const TraceLoss& loss) { return loss.what.starts_with(what); });
}

/// Compares without printing whole traces.
void expect_equal(const Trace& back, const Trace& wanted, const std::string& where) {
  EXPECT_EQ(back.origin, wanted.origin) << where;
  ASSERT_EQ(back.jobs.size(), wanted.jobs.size()) << where;
  for (std::size_t at = 0; at < wanted.jobs.size(); ++at)
    ASSERT_TRUE(back.jobs[at] == wanted.jobs[at])
        << where << ", job " << at << ": '" << back.jobs[at].name << "', wanted '"
        << wanted.jobs[at].name << "'";
}

TEST(TraceConversion, OurOwnFormHoldsEverything) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = trace_of(seed, Fields::All);
    const TraceText written = find_trace_target("orrery")->write(trace);
    EXPECT_THAT(written.losses, IsEmpty());
    const Trace back = read_back("orrery", written);
    expect_equal(back, trace, "seed " + std::to_string(seed));
  }
}

TEST(TraceConversion, SwfHoldsWhatItSays) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = trace_of(seed, Fields::Swf);
    const TraceText written = find_trace_target("swf")->write(trace);
    EXPECT_EQ(losses_of(written), "") << "seed " << seed;
    const Trace back = read_back("swf", written);
    expect_equal(back, trace, "seed " + std::to_string(seed));
  }
}

TEST(TraceConversion, PhillyHoldsPlainJobsButTheirNames) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Trace trace = trace_of(seed, Fields::Plain);
    const TraceText written = find_trace_target("philly")->write(trace);
    EXPECT_EQ(losses_of(written), trace.jobs.empty() ? "" : "names of jobs; ") << "seed " << seed;
    const Trace back = read_back("philly", written);
    for (std::size_t at = 0; at < trace.jobs.size(); ++at)
      trace.jobs[at].name = "line-" + std::to_string(at + 2);
    expect_equal(back, trace, "seed " + std::to_string(seed));
  }
}

/// What each loss of SWF and Philly takes from a job; with all of it taken, the rest is equal.
TEST(TraceConversion, NothingIsLostThatIsNotSaid) {
  for (const std::string target : {"swf", "philly"}) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      Trace trace = trace_of(seed, Fields::All);
      const TraceText written = find_trace_target(target)->write(trace);
      if (loses(written, "jobs without a device"))
        std::erase_if(trace.jobs, [](const TraceJob& job) { return job.gpus == 0; });
      Trace back = read_back(target, written);
      ASSERT_EQ(back.jobs.size(), trace.jobs.size()) << target << " seed " << seed;
      const bool cut = loses(written, "parts of seconds");
      for (std::size_t at = 0; at < back.jobs.size(); ++at) {
        TraceJob& was = trace.jobs[at];
        TraceJob& is = back.jobs[at];
        const auto spare = [&](std::string_view what, auto field) {
          if (loses(written, what)) was.*field = is.*field;
        };
        spare("names of jobs", &TraceJob::name);
        spare("parts of devices", &TraceJob::gpu_milli);
        spare("cores", &TraceJob::cpu_milli);
        spare("memory", &TraceJob::memory_mib);
        spare("numbers of instances", &TraceJob::instances);
        spare("device models", &TraceJob::models);
        spare("kinds of work", &TraceJob::kind);
        spare("names of kinds", &TraceJob::kind);
        spare("users", &TraceJob::user);
        spare("names of users", &TraceJob::user);
        spare("commas, quotes and outer blanks in names of virtual clusters", &TraceJob::vc);
        spare("names of virtual clusters", &TraceJob::vc);
        spare("how jobs ended", &TraceJob::status);
        spare("that the end is unknown", &TraceJob::censored);
        spare("share weights", &TraceJob::weight);
        spare("estimates", &TraceJob::estimate);
        spare("recorded times in the queue", &TraceJob::waited);
        const Duration moved = trace.origin + (was.submit - Instant::zero()) -
                               (back.origin + (is.submit - Instant::zero()));
        EXPECT_GE(moved, Duration::zero());
        EXPECT_LT(moved, cut ? Duration::seconds(1) : Duration::nanoseconds(1));
        was.submit = is.submit;
        ASSERT_TRUE(is == was) << target << " seed " << seed << " job " << at;
      }
    }
  }
}

TEST(TraceConversion, BatsimHasADelayJobForEach) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = trace_of(seed, Fields::Swf);
    const TraceText written = find_trace_target("batsim")->write(trace);
    const auto json = nlohmann::json::parse(written.text);
    ASSERT_EQ(json["jobs"].size(), trace.jobs.size()) << "seed " << seed;
    for (std::size_t at = 0; at < trace.jobs.size(); ++at) {
      const TraceJob& job = trace.jobs[at];
      const auto& row = json["jobs"][at];
      const auto& profile = json["profiles"][row["profile"].get<std::string>()];
      EXPECT_EQ(row["id"], job.name);
      EXPECT_EQ(row["res"], job.gpus);
      EXPECT_LE(row["res"].get<int>(), json["nb_res"].get<int>());
      EXPECT_DOUBLE_EQ(row["subtime"].get<double>(), job.submit.in_seconds());
      EXPECT_EQ(profile["type"], "DelayProfile");
      EXPECT_DOUBLE_EQ(profile["delay"].get<double>(), job.duration.in_seconds());
      const bool kept = job.estimate && *job.estimate >= job.duration;
      EXPECT_EQ(row.contains("walltime"), kept);
      if (kept) {
        EXPECT_DOUBLE_EQ(row["walltime"].get<double>(), job.estimate->in_seconds());
      }
    }
    const bool early = std::ranges::any_of(trace.jobs, [](const TraceJob& job) {
      return job.estimate && *job.estimate < job.duration;
    });
    EXPECT_EQ(loses(written, "estimates shorter than the run"), early) << "seed " << seed;
  }
}

TEST(TraceConversion, ATraceWithoutADateIsGivenOneByPhilly) {
  const auto trace = parse_swf("1 3.5 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", "log.swf");
  expect_accounted(trace);
  const TraceText written = find_trace_target("philly")->write(*trace);
  EXPECT_TRUE(loses(written, "the date"));
  EXPECT_EQ(written.text,
            "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-02 00:00:00,5,1,5,\n");
}

TEST(TraceConversion, PublicTracesComeBackFromOurOwnForm) {
  const std::string speeds = "gavel/throughputs/simulation_throughputs.json";
  if (!shared_trace(speeds)) GTEST_SKIP() << "the traces are not at ../shared/traces";
  for (const std::string name : {"pollux/philly.csv",
                                 "alibaba_openb_2023/openb_pod_list_default.csv",
                                 "gavel/traces/msr_seed0/ed69ec.trace",
                                 "gavel/shockwave_tacc32/120_multigpu_dynamic.trace",
                                 "swf/accasim_test_workload.swf",
                                 "swf/easy_mediumWL_smallPF.swf"}) {
    const auto trace = read_shared(name, kKeepAll, speeds);
    expect_accounted(trace);
    const Trace back = read_back("orrery", find_trace_target("orrery")->write(*trace));
    expect_equal(back, *trace, name);
  }
}

}  // namespace convert_tests
}  // namespace orrery::sim
