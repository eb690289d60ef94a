// What a job remembers of its failures for people.
#include "core/recovery/failure_notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

JobStatus status(const ControllerHarness& h, JobId id) {
  return status_of(h.controller.state(), h.job(id));
}

/// The worker ends with this code.
void end_with(ControllerHarness& h, JobId id, std::uint32_t rank, std::int32_t exit_code) {
  h.step(h.cluster.end(h.process(id, rank), WorkerFact::Exited, exit_code));
}

FailureExplained explained(JobId id, const Worker& worker, const std::string& lines) {
  return {id, worker.incarnation, worker.birth_rank, "it ended", lines};
}

TEST(FailureNotes, AJobThatFailedNamesTheWorkerItsExitCodeAndItsLastLines) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2);
  const Worker worker = h.job(id).workers[1];
  end_with(h, id, 1, 7);
  h.step(explained(id, worker, "no such file\n"));
  ASSERT_EQ(h.phase(id), JobPhase::Failed);
  const JobStatus told = status(h, id);
  EXPECT_THAT(told.message, HasSubstr("1 failure, 0 are allowed; the last: "));
  EXPECT_THAT(told.message, HasSubstr(" 1 on node-0 ended with exit code 7"));
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].exit_code, 7);
  EXPECT_EQ(told.failures[0].local_rank, 1);
  EXPECT_EQ(told.failures[0].last_lines, "no such file\n");
}

TEST(FailureNotes, WhatShellsMeanByAnExitCodeIsSaid) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId missing = h.running(job("a").limit(0), 1);
  end_with(h, missing, 0, 127);
  EXPECT_THAT(status(h, missing).message,
              HasSubstr("exit code 127, by which a shell says that there is no such program"));
  const JobId refused = h.running(job("b").limit(0), 1);
  end_with(h, refused, 0, 126);
  EXPECT_THAT(status(h, refused).message,
              HasSubstr("126, by which a shell says that a program cannot be executed"));
}

TEST(FailureNotes, TheyOutliveTheControllerThatSawThem) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(0), 1);
  const Worker worker = h.job(id).workers[0];
  end_with(h, id, 0, 7);
  h.step(explained(id, worker, "last words\n"));
  ByteWriter out;
  h.controller.state().save(out);
  ByteReader in(out.bytes());
  State again;
  ASSERT_TRUE(again.load(in, kRecordVersion));
  const JobStatus told = status_of(again, again.job(id));
  EXPECT_EQ(told.message, status(h, id).message);
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].last_lines, "last words\n");
}

TEST(FailureNotes, OnlyTheLatestAreKeptAndOnlyOneWithItsLines) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").limit(10);
  builder.raw().backoff_max = Duration::seconds(1);
  const JobId id = h.running(builder, 1);
  for (std::int32_t code = 1; code <= 5; ++code) {
    const Worker worker = h.job(id).workers[0];
    end_with(h, id, 0, code);
    h.step(explained(id, worker, "code " + std::to_string(code)));
    h.pass(Duration::seconds(1));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running);
  }
  const JobStatus told = status(h, id);
  ASSERT_THAT(told.failures, SizeIs(kFailuresKept));
  EXPECT_EQ(told.failures.front().exit_code, 3);
  EXPECT_THAT(told.failures.front().last_lines, IsEmpty());
  EXPECT_EQ(told.failures.back().last_lines, "code 5");
}

TEST(FailureNotes, WordsThatComeBeforeTheReportBelongToIt) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(0), 1);
  const Worker worker = h.job(id).workers[0];
  h.step(explained(id, worker, "early"));
  end_with(h, id, 0, 9);
  const JobStatus told = status(h, id);
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].exit_code, 9);
  EXPECT_EQ(told.failures[0].last_lines, "early");
}

TEST(FailureNotes, WordsOfAWorkerThatEndsWithItsJobAreNoFailure) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2);
  const Worker other = h.job(id).workers[0];
  end_with(h, id, 1, 7);
  ASSERT_EQ(h.phase(id), JobPhase::Failed);
  h.step(explained(id, other, "its peer is gone\n"));
  const JobStatus told = status(h, id);
  EXPECT_THAT(told.message, HasSubstr(" 1 on node-0 ended with exit code 7"));
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].exit_code, 7);
  EXPECT_EQ(h.reports_ignored(Ignored::StaleIncarnation), 1u);
}

TEST(FailureNotes, ExplanationsOfOtherWorkersChangeNothing) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  h.forget();
  h.step(FailureExplained{id, Incarnation{77}, Rank{0}, "who", "what"});
  h.step(FailureExplained{JobId{99}, Incarnation{1}, Rank{0}, "who", "what"});
  EXPECT_THAT(status(h, id).failures, IsEmpty());
  EXPECT_EQ(h.reports_ignored(Ignored::StaleIncarnation), 1u);
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
}

TEST(FailureNotes, LateWordsOfOneThatHasSucceededAreNoFailure) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  const Worker worker = h.job(id).workers[0];
  h.succeed(id, 0);
  h.step(explained(id, worker, "all is well\n"));
  EXPECT_THAT(status(h, id).failures, IsEmpty());
  EXPECT_EQ(h.reports_ignored(Ignored::StaleIncarnation), 1u);
}

TEST(FailureNotes, AnExitCodeIsNotSaidTwice) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(0), 1);
  const Worker worker = h.job(id).workers[0];
  end_with(h, id, 0, 7);
  h.step(explained(id, worker, "no such file\n"));
  const JobStatus told = status(h, id);
  ASSERT_THAT(told.failures, SizeIs(1));
  EXPECT_EQ(told.failures[0].message, "worker 0 on node-0 ended with exit code 7");
}

TEST(FailureNotes, ASignalIsNamedAndAStartThatFailedSaysWhy) {
  ControllerHarness h({nodes_of(1, 4)});
  for (const auto& [number, name] : std::vector<std::pair<int, std::string>>{{6, " (SIGABRT)"},
                                                                             {9, " (SIGKILL: "},
                                                                             {11, " (SIGSEGV)"},
                                                                             {15, " (SIGTERM)"},
                                                                             {31, ""}}) {
    const JobId killed = h.running(job("a" + std::to_string(number)).limit(0), 1);
    end_with(h, killed, 0, 128 + number);
    EXPECT_THAT(status(h, killed).message,
                HasSubstr("was ended by signal " + std::to_string(number) + name));
  }
  const JobId unstarted = h.submit(job("b").limit(0));
  h.plan(grant(unstarted, 1));
  const Worker worker = h.job(unstarted).workers[0];
  h.step(h.cluster.end(h.process(unstarted, 0), WorkerFact::LaunchFailed));
  h.step(FailureExplained{
      unstarted, worker.incarnation, worker.birth_rank, "/no/program: not found\nmore", {}});
  EXPECT_THAT(status(h, unstarted).message, HasSubstr("did not start: /no/program: not found"));
}

// "by a user, or for want of memory" stood there, though the agent itself had killed it.
TEST(FailureNotes, WhyItsNodeKilledAWorkerStandsInPlaceOfAGuess) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(0), 1);
  const Worker worker = h.job(id).workers[0];
  end_with(h, id, 0, 137);
  FailureExplained said = explained(id, worker, "");
  said.sentence = "it had the turn and was silent, so it was killed";
  h.step(said);
  EXPECT_EQ(status(h, id).failures.at(0).message,
            "worker 0 on node-0 was ended by signal 9 (SIGKILL): it had the turn and was silent, "
            "so it was killed");
}

// A worker that its node had killed for its lease was told as one that somebody had deleted.
TEST(FailureNotes, ALossNamesBothCausesOrTheOneThatItsNodeTells) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  const Worker worker = h.job(id).workers[0];
  h.lose(id, 0);
  const std::string causes = "deleted from outside, or killed as the lease of its node ran out";
  EXPECT_THAT(status(h, id).message, HasSubstr("a worker was lost: " + causes));
  ASSERT_THAT(status(h, id).failures, SizeIs(1));
  EXPECT_THAT(status(h, id).failures[0].message, HasSubstr("was " + causes));
  FailureExplained said = explained(id, worker, "");
  said.sentence = "the lease of its node ran out, so it was killed there";
  h.step(said);
  EXPECT_THAT(status(h, id).failures[0].message,
              HasSubstr("on node-0 was lost: the lease of its node ran out, so it was killed"));
}

TEST(FailureNotes, TextsAreBounded) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(0), 1);
  const Worker worker = h.job(id).workers[0];
  end_with(h, id, 0, 1);
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "line " + std::to_string(i) + "\n";
  h.step(explained(id, worker, lines));
  const std::string kept = status(h, id).failures.at(0).last_lines;
  EXPECT_LE(kept.size(), kFailureTextMax);
  EXPECT_TRUE(kept.starts_with("line "));
  EXPECT_TRUE(kept.ends_with("line 999\n"));
}

TEST(FailureNotes, WhoSubmittedAJobIsRemembered) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(JobSubmitted{5, std::make_shared<JobSpec>(job("a").spec()), "ada"});
  EXPECT_EQ(status(h, JobId{0}).user, "ada");
}

}  // namespace
}  // namespace orrery::tests
