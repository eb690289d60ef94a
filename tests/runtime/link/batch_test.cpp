#include "runtime/link/batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/record/version.hpp"
#include "runtime/proto/agent_link.pb.h"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kLarge = 1 << 20;

TEST(Outbox, HandsOutInOrderWhatFitsIntoABatch) {
  Outbox outbox(kLarge);
  for (const char* text : {"one", "two", "three", "four"}) ASSERT_TRUE(outbox.push(text));
  link::Batch batch;
  outbox.fill(batch, 20);
  EXPECT_THAT(batch.messages(), ElementsAre("one", "two"));
  batch.Clear();
  outbox.fill(batch, 1);  // One at least.
  EXPECT_THAT(batch.messages(), ElementsAre("three"));
  batch.Clear();
  ASSERT_TRUE(outbox.push("five"));
  outbox.fill(batch, kLarge);
  EXPECT_THAT(batch.messages(), ElementsAre("four", "five"));
  EXPECT_EQ(batch.record_version(), kRecordVersion);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.bytes(), 0U);
}

TEST(Outbox, RefusesWhatItMayNotHold) {
  Outbox outbox(1000);
  ASSERT_TRUE(outbox.push(std::string(900, 'x')));
  EXPECT_FALSE(outbox.push(std::string(100, 'y')));
  link::Batch batch;
  outbox.fill(batch, kLarge);
  EXPECT_EQ(batch.messages_size(), 1);
  EXPECT_TRUE(outbox.push(std::string(100, 'y')));
}

TEST(Outbox, ALongQueueThatIsNeverEmptyDoesNotGrow) {
  Outbox outbox(kLarge);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(outbox.push("waits"));
  link::Batch batch;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(outbox.push(std::to_string(i)));
    batch.Clear();
    outbox.fill(batch, 1);
    ASSERT_EQ(batch.messages(0), i < 10 ? "waits" : std::to_string(i - 10));
  }
  batch.Clear();
  outbox.fill(batch, kLarge);
  EXPECT_EQ(batch.messages_size(), 10);
}

TEST(Unpack, TakesWhatWasPacked) {
  link::Batch batch;
  Outbox outbox(kLarge);
  outbox.push(encode(ControllerMessage(Renewal{.epoch = Epoch{3}, .sent_at = {12}})));
  outbox.push(encode(ControllerMessage(Announcement{.epoch = Epoch{4}})));
  outbox.fill(batch, kLarge);
  std::vector<ControllerMessage> messages;
  ASSERT_EQ(unpack(batch, kLarge, messages), "");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(std::get<Renewal>(messages[0]).sent_at.ns, 12);
  EXPECT_EQ(std::get<Announcement>(messages[1]).epoch.value, 4U);
}

TEST(Unpack, SaysWhatIsWrong) {
  std::vector<AgentMessage> messages;
  link::Batch batch;
  batch.set_record_version(kRecordVersion + 1);
  EXPECT_THAT(unpack(batch, kLarge, messages), HasSubstr("run the same release"));
  batch.set_record_version(kRecordVersion);
  EXPECT_EQ(unpack(batch, kLarge, messages), "");
  batch.add_messages("no message at all");
  EXPECT_THAT(unpack(batch, kLarge, messages), HasSubstr("17 bytes that does not decode"));
  batch.set_messages(0, std::string(100, '\0'));
  EXPECT_THAT(unpack(batch, 99, messages), HasSubstr("100 bytes, at most 99"));
  batch.set_messages(0, encode(AgentMessage(Reports{})) + "x");
  EXPECT_THAT(unpack(batch, kLarge, messages), HasSubstr("does not decode"));
  batch.set_messages(0, "");
  EXPECT_THAT(unpack(batch, kLarge, messages), HasSubstr("does not decode"));
}

}  // namespace
}  // namespace orrery::runtime
