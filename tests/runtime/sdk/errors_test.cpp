// Each type of error, as its class.
#include "runtime/sdk/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

template <class Error>
Error thrown_by(const std::function<void()>& task) {
  try {
    task();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& other) {
    ADD_FAILURE() << "something else: " << other.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorFields{});
}

TEST(ErrorFieldsOnTheWire, EveryTypeBecomesItsClassAndBack) {
  const ErrorFields fields = detail::error_from({{"type", "WorkerLost"},
                                                 {"message", "gone"},
                                                 {"rank", 3},
                                                 {"role", "trainer"},
                                                 {"generation", 2}});
  const auto lost = thrown_by<WorkerLost>([&] { raise(fields); });
  EXPECT_EQ(lost.rank(), 3);
  EXPECT_EQ(lost.role(), "trainer");
  EXPECT_EQ(lost.generation(), 2);
  EXPECT_STREQ(lost.what(), "WorkerLost: gone");
  EXPECT_EQ(detail::error_value(fields)["rank"], 3);
  EXPECT_EQ(thrown_by<CallError>([] {
              raise({"Later", "made", Value::object()});
            }).type(),
            "Later");
  EXPECT_EQ(detail::error_from(7).type, "Protocol");
}

class CallErrors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::unique_ptr<FakeCluster> cluster;
  Driver driver = cluster->driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

std::unique_ptr<FakeCluster> CallErrors::cluster;

TEST_F(CallErrors, RemoteHasTheClassAndItsText) {
  const auto error = thrown_by<Remote>([&] { trainer.call("fail", "on purpose"); });
  EXPECT_THAT(error.class_name(), ::testing::HasSubstr("OddError"));
  EXPECT_THAT(error.message(), ::testing::HasSubstr("on purpose"));
  EXPECT_EQ(thrown_by<Remote>([&] { trainer.call("fail_oddly"); }).class_name(), "unknown");
}

TEST_F(CallErrors, UnknownMethodListsThoseThatThereAre) {
  const auto error = thrown_by<UnknownMethod>([&] { trainer.call("ad", 1, 2); });
  EXPECT_THAT(error.methods(), ::testing::Contains("add"));
  EXPECT_THROW(trainer.call("orrery.nothing"), UnknownMethod);
}

TEST_F(CallErrors, BadArgumentsNameEverythingThatDoesNotFit) {
  const auto error = thrown_by<BadArguments>([&] {
    trainer.call_named("add", {{"a", 1}, {"c", 2}}, {1, 2, 3});
  });
  EXPECT_THAT(error.message(), ::testing::HasSubstr("3 positional"));
  EXPECT_THAT(error.message(), ::testing::HasSubstr("twice"));
  EXPECT_THAT(error.message(), ::testing::HasSubstr("argument c"));
  EXPECT_THROW(trainer.call("add", 1), BadArguments);
  EXPECT_THROW(trainer.call("add", 1, "two"), BadArguments);
  EXPECT_THROW(trainer.call("add", 1, 1.5), BadArguments);
  EXPECT_THROW(trainer.call("add", 1, std::int64_t{1} << 40), BadArguments);
  EXPECT_THROW(trainer.call("sum", "no buffer"), BadArguments);
  EXPECT_THROW(trainer.call("refuse"), BadArguments);
  EXPECT_THROW(trainer.call<std::string>("add", 1, 2), BadArguments);
  EXPECT_THROW(trainer.call("echo", Value{{"$x", 1}}), BadArguments);
  EXPECT_THROW(trainer.with({.once = std::string(65, 'x')}).call("add", 1, 2), BadArguments);
}

TEST_F(CallErrors, TooLargeOnBothWays) {
  Buffer large;
  large.bytes.resize((1 << 23) + 1);
  const auto out = thrown_by<TooLarge>([&] { trainer.call("sum", large); });
  EXPECT_EQ(out.bytes(), (1 << 23) + 1);
  EXPECT_EQ(out.limit(), 1 << 23);
  const auto back =
      thrown_by<TooLarge>([&] { trainer.with({.result_max = 1000}).call("bytes", 1001); });
  EXPECT_EQ(back.bytes(), 1001);
  EXPECT_EQ(back.limit(), 1000);
  EXPECT_EQ(trainer.with({.result_max = 1000}).call<Buffer>("bytes", 1000).bytes.size(), 1000U);
  const std::string text((1 << 20) - 200, 'x');
  EXPECT_EQ(trainer.call<std::string>("echo", text), text);
  EXPECT_THROW(trainer.call("echo", text + std::string(400, 'x')), TooLarge);
}

TEST_F(CallErrors, AWorkerSkipsWhatIsTooLargeAndGoesOn) {
  RawCaller raw(cluster->peer(cluster->name_of("trainer", 0), "driver:raw"), "driver:raw");
  const Value call = {{"t", "call"},
                      {"id", 1},
                      {"method", "sum"},
                      {"args", {{{"$buffer", 0}}}},
                      {"kwargs", Value::object()},
                      {"deadline_ms", 60'000},
                      {"buffers", {(1 << 23) + 1}}};
  raw.send(call, std::string((1 << 23) + 1, 'x'));
  EXPECT_EQ(raw.error_type(), "TooLarge");
  raw.send({{"t", "call"},
            {"id", 2},
            {"method", "add"},
            {"args", {1, 2}},
            {"kwargs", Value::object()},
            {"deadline_ms", 60'000}});
  EXPECT_EQ(raw.receive()->header["value"], 3);
}

TEST_F(CallErrors, NoSuchWorkerWhereTheRoleOrTheRankIsNotThere) {
  EXPECT_THROW(driver.worker("trainer", 7).call("add", 1, 2), NoSuchWorker);
  EXPECT_THROW(driver.worker("dreamer", 0).call("add", 1, 2), NoSuchWorker);
  DriverOptions options = cluster->driver_options();
  options.job = "default.other";
  EXPECT_THROW(Driver(options).worker("trainer", 0).call("add", 1, 2), NoSuchWorker);
  EXPECT_THROW(driver.worker_named("7-9-9").call("add", 1, 2), WorkerLost);
}

TEST_F(CallErrors, GenerationChangedSaysBoth) {
  CallOptions options;
  options.generation = 7;
  const auto error = thrown_by<GenerationChanged>([&] { trainer.with(options).call("add", 1, 2); });
  EXPECT_EQ(error.was(), 7);
  EXPECT_EQ(error.is(), 1);
  options.generation = 1;
  EXPECT_EQ(trainer.with(options).call<int>("add", 1, 2), 3);
}

TEST_F(CallErrors, NoControllerIsATimeoutByTheDeadline) {
  DriverOptions options = cluster->driver_options();
  options.url = "http://127.0.0.1:" + std::to_string(worker::ReservedPort().number());
  EXPECT_THROW(
      Driver(options).worker("trainer", 0).within(std::chrono::milliseconds(100)).call("x"),
      Timeout);
}

}  // namespace
}  // namespace orrery::sdk
