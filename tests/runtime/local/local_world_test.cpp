// The world alone, with the test in the controller's place.
#include "runtime/local/local_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/local/observing.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::shared_ptr<const JobSpec> job_of(std::vector<std::string> command) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = "default.job";
  spec->roles.emplace_back();
  spec->roles[0].name = "worker";
  spec->roles[0].max_replicas = 8;
  spec->roles[0].command = std::move(command);
  spec->roles[0].environment = {{"COLOUR", "green"}};
  return spec;
}

std::shared_ptr<const JobSpec> script(const std::string& text) {
  return job_of({"/bin/sh", "-c", text});
}

/// Accepts the one job of the schedule and gives orders about it.
class Session {
 public:
  explicit Session(std::shared_ptr<const JobSpec> spec) : world_(options(std::move(spec))) {
    next<JobSubmitted>();
    order(AnswerRequest{1, JobId{0}, true, {}});
  }

  void order(CommandBody body) {
    world_.issue({Sequence{++sequence_}, 0, Epoch{1}, std::move(body)});
  }

  void start(std::uint32_t count) {
    StartWorkers order_of{JobId{0}, Generation{1}, count, {}};
    for (std::uint32_t i = 0; i < count; ++i)
      order_of.workers.push_back({Rank{i},
                                  RoleIndex{0},
                                  static_cast<std::int32_t>(i),
                                  NodeId{0},
                                  Incarnation{1},
                                  std::uint64_t{5} << i,
                                  {}});
    order(order_of);
  }

  void stop(std::uint32_t rank, Duration grace) {
    order(StopWorkers{JobId{0}, Generation{1}, grace, {{Rank{rank}, NodeId{0}, Incarnation{1}}}});
  }

  /// The next event of a kind; others are dropped. None: the world has ended.
  template <class Body>
  std::optional<Body> next() {
    while (true) {
      while (taken_ < events_.size())
        if (const auto* body = std::get_if<Body>(&events_[taken_++].body)) return *body;
      events_.clear();
      taken_ = 0;
      if (!world_.wait_events(Instant::never(), events_)) return std::nullopt;
    }
  }

  std::optional<WorkersChanged> report() { return next<WorkersChanged>(); }

  LocalWorld& world() { return world_; }

 private:
  static LocalOptions options(std::shared_ptr<const JobSpec> spec) {
    LocalOptions out;
    out.submissions.push_back({Instant::zero(), std::move(spec)});
    return out;
  }

  LocalWorld world_;
  std::uint64_t sequence_ = 0;
  std::vector<Event> events_;
  std::size_t taken_ = 0;
};

TEST(LocalWorld, ReportsReadyAsARangeAndEachExitAndThenEnds) {
  Session session(script("exit $ORRERY_RANK"));
  session.start(3);
  const auto ready = session.report();
  ASSERT_TRUE(ready.has_value());
  EXPECT_EQ(ready->fact, WorkerFact::Ready);
  EXPECT_EQ(ready->count, 3U);
  std::vector<std::int32_t> codes;
  for (int i = 0; i < 3; ++i) {
    const auto exit = session.report();
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->fact, WorkerFact::Exited);
    EXPECT_EQ(static_cast<std::uint32_t>(exit->exit_code), exit->first.value);
    codes.push_back(exit->exit_code);
  }
  EXPECT_THAT(codes, ::testing::UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(session.report(), std::nullopt);
}

TEST(LocalWorld, TellsAWorkerWhoItIs) {
  Session session(
      script("test \"$ORRERY_JOB/$ORRERY_ROLE/$ORRERY_RANK/$ORRERY_LOCAL_RANK/$ORRERY_WORLD_SIZE/"
             "$ORRERY_GENERATION/$ORRERY_INCARNATION/$CUDA_VISIBLE_DEVICES/$COLOUR\" = "
             "default.job/worker/0/0/1/1/1/0,2/green"));
  session.start(1);
  session.report();
  const auto exit = session.report();
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code, 0);
}

TEST(LocalWorld, StopsWithATermAndKillsWhatDoesNotListen) {
  Session obeys(job_of({"sleep", "1000"}));
  obeys.start(1);
  obeys.report();
  obeys.stop(0, Duration::seconds(1000));
  EXPECT_EQ(obeys.report()->exit_code, 128 + 15);

  const Scratch scratch("world");
  const std::string note = scratch.path() / "note";
  Session ignores(script("trap '' TERM; echo up > " + note + "; while true; do sleep 1000; done"));
  ignores.start(1);
  ignores.report();
  EXPECT_EQ(line_of(note), "up");
  ignores.stop(0, Duration::milliseconds(20));
  EXPECT_EQ(ignores.report()->exit_code, 128 + 9);
}

TEST(LocalWorld, AProgramThatIsNotThereFailsToLaunchAndSaysWhy) {
  Session session(job_of({"/nowhere/at/all"}));
  session.start(2);
  const auto failed = session.report();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->fact, WorkerFact::LaunchFailed);
  EXPECT_EQ(failed->count, 2U);
  EXPECT_EQ(session.report(), std::nullopt);
  ASSERT_THAT(session.world().warnings(), SizeIs(2));
  EXPECT_THAT(session.world().warnings()[0], HasSubstr("default.job: /nowhere/at/all: it cannot"));
}

TEST(LocalWorld, CommandsOfADeposedControllerDoNothing) {
  Session session(job_of({"sleep", "1000"}));
  session.start(1);
  session.report();
  session.world().issue(
      {Sequence{99},
       0,
       Epoch{0},
       StopWorkers{
           JobId{0}, Generation{1}, Duration::zero(), {{Rank{0}, NodeId{0}, Incarnation{1}}}}});
  session.stop(0, Duration::seconds(1000));
  EXPECT_EQ(session.report()->exit_code, 128 + 15) << "asked by the leader, not killed";
}

TEST(LocalWorld, WaitsForADeadlineAlsoWhenNothingWillHappen) {
  LocalWorld world({});
  std::vector<Event> events;
  while (world.wait_events(world.now(), events)) events.clear();
  const Instant deadline = world.now() + Duration::milliseconds(30);
  EXPECT_FALSE(world.wait_events(deadline, events));
  EXPECT_GE(world.now(), deadline);
}

}  // namespace
}  // namespace orrery::runtime
