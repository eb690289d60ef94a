// Records as bytes: back as they were, and no bytes at all that do harm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/record/codec.hpp"
#include "core/record/record_text.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::tests {
namespace {

std::string event_bytes(const Event& event) {
  ByteWriter out;
  encode(event, out);
  return std::string(out.text());
}

/// One event of every kind, with something in every field that matters.
std::vector<Event> one_of_each() {
  std::vector<EventBody> bodies;
  Settings settings;
  settings.policy = "las/1";
  settings.plan_period = Duration::seconds(60);
  bodies.emplace_back(EpochStarted{Epoch{3}, settings});
  bodies.emplace_back(NodesDeclared{{nodes_of(4, 8), nodes_of(1, 0)}});
  bodies.emplace_back(QuotasDeclared{{{"group/g", 7}}});
  JobBuilder builder = job("a").elastic(1, 8).role("b", 2).follower("c", 1).group("g").priority(-5);
  builder.raw().roles[0].command = {"python", "train.py"};
  builder.raw().roles[0].environment = {{"KEY", "value"}};
  builder.raw().drain_grace = Duration::forever();
  bodies.emplace_back(JobSubmitted{77, std::make_shared<JobSpec>(builder.spec()), "ada"});
  bodies.emplace_back(ScaleRequested{1, JobId{2}, RoleIndex::none(), ScaleMode::Remove, -3});
  bodies.emplace_back(StopRequested{1, JobId::none()});
  bodies.emplace_back(DeleteRequested{1, JobId{2}});
  bodies.emplace_back(JobChanged{1, JobId{2}, std::make_shared<JobSpec>(builder.spec())});
  bodies.emplace_back(ProfilingChanged{JobId{1}, Generation{2}, Rank{3}, {{"throughput", -0.0}}});
  ProgressReported progress;
  progress.done = 1e300;
  progress.checkpointed = true;
  bodies.emplace_back(progress);
  bodies.emplace_back(WorkersChanged{
      JobId{1}, Generation{2}, Incarnation{2}, WorkerFact::LaunchFailed, Rank{0}, 9, -1});
  std::get<WorkersChanged>(bodies.back()).diagnosis =
      Diagnosis{Blame::Peer, RoleIndex{1}, 3, "it hung up"};
  bodies.emplace_back(NodeSilent{NodeId{16'383}});
  bodies.emplace_back(
      NodeReturned{NodeId{1}, {{JobId{1}, Generation{2}, Incarnation{2}, Rank{3}}}});
  bodies.emplace_back(TimeReached{});
  bodies.emplace_back(PlanProposed{
      Sequence{9}, PlanTrigger::Submission, JobId{1}, grant(JobId{1}, 3, {on(0, 1), on(4, 2)})});
  bodies.emplace_back(
      SubMasterSaid{JobId{1}, RoleIndex{2}, Incarnation{3}, 4, SubMasterMessage::AskRestart});
  bodies.emplace_back(NodesRelaunched{JobId{1}, 2, {NodeId{3}, NodeId{4}}, "no machine left"});
  bodies.emplace_back(ExclusionRequested{7, NodeId{8}, false});
  bodies.emplace_back(NodeLeaving{NodeId{8}, Instant{9'000'000'000}});
  bodies.emplace_back(DevicesLost{NodeId{8}, 0x81});
  bodies.emplace_back(
      WorkerSuspected{JobId{1}, Generation{2}, Incarnation{3}, Rank{4}, Suspicion::Straggling});
  bodies.emplace_back(
      FailureExplained{JobId{1}, Incarnation{3}, Rank{4}, "it ended with 7", "one\ntwo\n"});
  bodies.emplace_back(NodeHeld{NodeId{8}, 0x81});
  bodies.emplace_back(PlanLost{Sequence{9},
                               PlanTrigger::Submission,
                               JobId{1},
                               PlanLoss::Ended,
                               "killed by signal 11",
                               true});
  std::vector<Event> events;
  for (EventBody& body : bodies)
    events.push_back({Instant{1'000'000'007}, Instant{5}, Origin::Reaction, std::move(body)});
  return events;
}

TEST(Records, EveryKindComesBackAsItWas) {
  const std::vector<Event> events = one_of_each();
  ASSERT_EQ(events.size(), std::variant_size_v<EventKinds>);
  for (const Event& event : events) {
    const std::string bytes = event_bytes(event);
    ByteReader in(bytes);
    Event back;
    ASSERT_TRUE(decode(in, kRecordVersion, back)) << kind_name(event.body);
    EXPECT_TRUE(in.finished());
    EXPECT_EQ(back.at, event.at);
    EXPECT_EQ(back.occurred_at, event.occurred_at);
    EXPECT_TRUE(event_bytes(back) == bytes) << kind_name(event.body);
    EXPECT_EQ(event_json(1, back), event_json(1, event));
  }
}

TEST(Records, ATruncatedRecordIsNoRecord) {
  for (const Event& event : one_of_each()) {
    const std::string bytes = event_bytes(event);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in(std::string_view(bytes).substr(0, size));
      Event back;
      EXPECT_FALSE(decode(in, kRecordVersion, back)) << kind_name(event.body) << " cut at " << size;
    }
  }
}

TEST(Records, DamagedBytesAreRefusedOrAreAnotherRecord) {
  constexpr std::uint64_t kSeed = 20'260'801;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const std::vector<Event> events = one_of_each();
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes = event_bytes(events[random.below(events.size())]);
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.bits());
    ByteReader in(bytes);
    Event back;
    if (!decode(in, kRecordVersion, back)) continue;
    // What was read has one encoding, which reads as the same.
    const std::string again = event_bytes(back);
    ByteReader second(again);
    Event same;
    ASSERT_TRUE(decode(second, kRecordVersion, same));
    EXPECT_TRUE(event_bytes(same) == again);
  }
}

TEST(Records, NoiseIsRefusedWithoutHarm) {
  constexpr std::uint64_t kSeed = 7;
  Random random(kSeed);
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes(random.below(64), '\0');
    for (char& c : bytes) c = static_cast<char>(random.bits());
    if (!bytes.empty()) bytes[0] = static_cast<char>(random.below(14));
    ByteReader in(bytes);
    Event event;
    (void)decode(in, kRecordVersion, event);
  }
}

TEST(Records, AWriterInAnImpossibleHurryStillReads) {
  // The lag of these two does not fit into the number that holds it.
  const Event event{Instant::never(), Instant{-5}, Origin::External, TimeReached{}};
  const std::string bytes = event_bytes(event);
  ByteReader in(bytes);
  Event back;
  ASSERT_TRUE(decode(in, kRecordVersion, back));
  EXPECT_EQ(back.occurred_at, event.occurred_at);
}

/// A record whose second field came with version 2, with a field after it.
struct Grown {
  std::uint32_t first = 1;
  std::uint32_t added = 7;
  std::vector<std::uint32_t> last;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("first", self.first);
    v.field_since(2, "added", self.added);
    v.field("last", self.last);
  }
};

TEST(Records, AFieldThatAnOlderVersionDoesNotHaveKeepsItsDefault) {
  ByteWriter old;
  Encoder encoder(old);
  encoder.put(std::uint32_t{5});
  encoder.put(std::vector<std::uint32_t>{8, 9});
  ByteReader in(old.bytes());
  Decoder decoder(in, 1);
  Grown back;
  decoder.get(back);
  EXPECT_TRUE(decoder.ok() && in.finished());
  EXPECT_EQ(back.first, 5U);
  EXPECT_EQ(back.added, 7U);
  EXPECT_EQ(back.last, (std::vector<std::uint32_t>{8, 9}));
}

TEST(Records, AFieldOfANewerVersionIsWrittenReadAndShown) {
  const Grown grown{5, 6, {8}};
  ByteWriter out;
  Encoder(out).put(grown);
  ByteReader in(out.bytes());
  Decoder decoder(in, 2);
  Grown back;
  decoder.get(back);
  EXPECT_TRUE(decoder.ok() && in.finished());
  EXPECT_EQ(back.added, 6U);
  JsonText json;
  JsonFields(json).put(grown);
  EXPECT_EQ(json.take(), R"({"first":5,"added":6,"last":[8]})");
}

}  // namespace
}  // namespace orrery::tests
