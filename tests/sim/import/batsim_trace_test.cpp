// Batsim workloads as traces: what is written is read back, and every public one is accounted for.
#include "sim/import/batsim_trace.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "sim/traces/trace_target.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::sim {
namespace {

Trace trace_of(std::uint64_t seed) {
  Random random = Random::stream(seed, "batsim");
  std::vector<TraceJob> jobs;
  const auto time = [&](std::int64_t from_s, std::int64_t to_s) {
    return Duration::nanoseconds(random.between(from_s * 1'000'000'000, to_s * 1'000'000'000));
  };
  for (std::uint64_t number = random.below(40); number > 0; --number) {
    TraceJob job;
    job.name = "job-" + std::to_string(number);
    job.submit = Instant::zero() + time(0, 1'000'000);
    job.duration = time(1, 400'000);
    job.gpus = static_cast<int>(1 + random.below(64));
    if (random.below(2) == 0) job.estimate = time(1, 400'000);
    jobs.push_back(std::move(job));
  }
  return finish_trace(std::move(jobs), {});
}

TEST(BatsimTrace, WhatIsWrittenIsReadBackButForWhatIsSaid) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Trace trace = trace_of(seed);
    const TraceText written = find_trace_target("batsim")->write(trace);
    const auto file = parse_batsim(written.text, "back.json", BatsimNames::Strict);
    ASSERT_TRUE(file.has_value()) << "seed " << seed << ": " << file.errors()[0].text();
    const auto back = batsim_trace(*file);
    ASSERT_TRUE(back.has_value()) << "seed " << seed;
    ASSERT_EQ(back->jobs.size(), trace.jobs.size()) << "seed " << seed;
    EXPECT_EQ(back->report.dropped(), 0U);
    for (std::size_t at = 0; at < trace.jobs.size(); ++at) {
      TraceJob& was = trace.jobs[at];
      if (was.estimate && *was.estimate < was.duration) was.estimate.reset();
      ASSERT_TRUE(back->jobs[at] == was) << "seed " << seed << ", " << was.name;
    }
    for (const TraceLoss& loss : written.losses)
      EXPECT_TRUE(loss.what == "estimates shorter than the run" ||
                  loss.what.starts_with("the date"))
          << loss.what;
  }
}

TEST(BatsimTrace, SequencesOfManySequencesAreAddedUpOnceEach) {
  // Walked part by part, the upper ones are of 10^30 and more delays.
  constexpr int kLevels = 17;
  std::string profiles = R"("s0": {"type": "DelayProfile", "delay": 1e-27})";
  for (int level = 1; level <= kLevels; ++level) {
    const std::string below = "\"s" + std::to_string(level - 1) + "\"";
    profiles += ", \"s" + std::to_string(level) +
                R"(": {"type": "SequentialCompositionProfile", "seq": [)" + below;
    for (int part = 1; part < 100; ++part) profiles += "," + below;
    profiles += "]}";
  }
  std::string jobs;
  for (const int level : {14, 15, 16, 17})
    jobs += (jobs.empty() ? "" : ", ") + (R"({"id": "j)" + std::to_string(level)) +
            R"(", "subtime": 0, "res": 1, "profile": "s)" + std::to_string(level) + "\"}";
  const auto file = parse_batsim(
      R"({"nb_res": 8, "jobs": [)" + jobs + R"(], "profiles": {)" + profiles + "}}", "w.json");
  ASSERT_TRUE(file.has_value()) << file.errors()[0].text();
  const auto trace = batsim_trace(*file);
  ASSERT_TRUE(trace.has_value());
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_NEAR(trace->jobs[0].duration.in_seconds(), 10, 1e-3);
  EXPECT_NEAR(trace->jobs[1].duration.in_seconds(), 1e3, 1e-3);
  EXPECT_NEAR(trace->jobs[2].duration.in_seconds(), 1e5, 1e-1);
  EXPECT_EQ(trace->report.counted(TraceReason::NoRunTime, TraceAction::Dropped), 1U)
      << "deeper than 16";
}

TEST(BatsimTrace, ThePublicWorkloadsAreAccountedFor) {
  const std::filesystem::path folder =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/traces/batsim";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no workloads at ../shared/traces/batsim";
  for (const auto& [name, jobs] : {std::pair("example_workload_hpc_seed1_jobs250.json", 250U),
                                   std::pair("test_batsim_paper_workload_seed1.json", 800U),
                                   std::pair("evalys_reference_outputs/medium_late.json", 801U)}) {
    const auto file = parse_batsim(text_of_file(folder / name), name);
    ASSERT_TRUE(file.has_value()) << file.errors()[0].text();
    const auto trace = batsim_trace(*file, {.zero_gpus = OddRows::Keep});
    ASSERT_TRUE(trace.has_value());
    EXPECT_EQ(trace->report.rows, jobs) << name;
    EXPECT_EQ(trace->report.rows, trace->report.jobs + trace->report.dropped()) << name;
  }
}

}  // namespace
}  // namespace orrery::sim
