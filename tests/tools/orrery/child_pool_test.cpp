#include "tools/orrery/child_pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

const PoolWatch kNoWatch{[](const auto&, const auto&) {}};

TEST(ChildPool, AnswersStandInTheOrderOfTheTasks) {
  std::vector<Task> tasks;
  for (int i = 0; i < 20; ++i)
    tasks.push_back([i](ChildReport& report) {
      report.result(std::to_string(i));
      return i % 2 == 0 ? ExitCode::Met : ExitCode::Unmet;
    });
  const auto ends = run_in_children(tasks, 3, kNoWatch);
  ASSERT_EQ(ends.size(), 20U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ends[i].result, std::to_string(i));
    EXPECT_EQ(ends[i].code, i % 2 == 0 ? ExitCode::Met : ExitCode::Unmet);
  }
}

TEST(ChildPool, ALargeAnswerArrivesWhole) {
  const std::string large(3'000'000, 'x');
  const auto ends = run_in_children({[&](ChildReport& report) {
                                      report.progress({.jobs_done = 1});
                                      report.result(large);
                                      return ExitCode::Met;
                                    }},
                                    1,
                                    kNoWatch);
  EXPECT_EQ(ends[0].result, large);
}

/// The process may open no more than so many descriptors beyond those that it has.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    const rlimit now{static_cast<rlim_t>(next) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &now);
  }

  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(ChildPool, AsManyRunAtATimeAsTheSystemAllows) {
  const std::vector<Task> tasks(12, [](ChildReport& report) {
    report.result("fine");
    return ExitCode::Met;
  });
  const FewDescriptors limit(4);
  const auto ends = run_in_children(tasks, 12, kNoWatch);
  for (const TaskEnd& end : ends) EXPECT_EQ(end.result, "fine");
}

TEST(ChildPool, WhatCannotBeStartedIsTold) {
  const FewDescriptors limit(1);
  const auto ends = run_in_children(
      std::vector<Task>(2, [](ChildReport&) { return ExitCode::Met; }), 2, kNoWatch);
  for (const TaskEnd& end : ends) {
    EXPECT_EQ(end.code, ExitCode::InvariantBroken);
    EXPECT_NE(end.note.find("ulimit -n"), std::string::npos) << end.note;
  }
}

TEST(ChildPool, OneThatIsKilledIsTold) {
  const auto ends = run_in_children(
      {[](ChildReport&) -> ExitCode {
         raise(SIGKILL);
         return ExitCode::Met;
       },
       [](ChildReport&) -> ExitCode { throw std::runtime_error("thrown on purpose by the test"); },
       [](ChildReport& report) {
         report.result("fine");
         return ExitCode::Met;
       }},
      2,
      kNoWatch);
  EXPECT_EQ(ends[0].code, ExitCode::InvariantBroken);
  EXPECT_NE(ends[0].note, "");
  EXPECT_EQ(ends[1].code, ExitCode::InvariantBroken);
  EXPECT_EQ(ends[2].result, "fine");
}

TEST(ChildPool, TheWatchSeesProgressAndEveryEnd) {
  std::size_t over_last = 0;
  std::uint64_t jobs_last = 0;
  const PoolWatch watch{[&](const std::vector<TaskProgress>& tasks, const std::vector<bool>& over) {
    over_last = static_cast<std::size_t>(std::count(over.begin(), over.end(), true));
    jobs_last = tasks[0].jobs_done;
  }};
  const Task task = [](ChildReport& report) {
    report.progress({.jobs_done = 5, .jobs_total = 9});
    return ExitCode::Met;
  };
  run_in_children({task, task, task}, 2, watch);
  EXPECT_EQ(over_last, 3U);
  EXPECT_EQ(jobs_last, 5U);
}

TEST(ChildPool, AnInterruptEndsWhatRunsAndStartsNoMore) {
  catch_interrupts();
  // Each child waits for a signal that only the pool's end brings.
  const Task task = [](ChildReport& report) {
    report.progress({.jobs_done = 1});
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
    return ExitCode::Met;
  };
  const PoolWatch watch{[](const std::vector<TaskProgress>& tasks, const std::vector<bool>&) {
    if (tasks[0].jobs_done == 1) raise(SIGINT);
  }};
  const auto ends = run_in_children({task, task}, 1, watch);
  EXPECT_EQ(ends[0].code, ExitCode::Interrupted);
  EXPECT_EQ(ends[1].code, ExitCode::Interrupted);
  release_interrupts();
}

}  // namespace
}  // namespace orrery::cli
