#include "runtime/sdk/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace orrery::sdk::detail {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

Environment of(const Variables& variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

const Variables kWorker{{"ORRERY_WORKER", "7-1-2"},
                        {"ORRERY_JOB", "default.train"},
                        {"ORRERY_ROLE", "trainer"},
                        {"ORRERY_TOKEN", "secret"},
                        {"ORRERY_RANK", "2"},
                        {"ORRERY_LOCAL_RANK", "1"},
                        {"ORRERY_WORLD_SIZE", "4"},
                        {"ORRERY_GENERATION", "3"},
                        {"ORRERY_SOCKET", "agent"},
                        {"ORRERY_SERVER_URL", "http://127.0.0.1:1"}};

std::vector<std::string> findings(const std::function<void()>& task) {
  try {
    task();
  } catch (const BadSettings& error) {
    return error.findings();
  }
  return {};
}

TEST(WorkerEnvironmentOfSdk, IsReadWhole) {
  const WorkerStart start = worker_start(of(kWorker));
  EXPECT_EQ(start.worker, "7-1-2");
  EXPECT_EQ(start.role, "trainer");
  EXPECT_EQ(start.call_address, "127.0.0.1");
  EXPECT_EQ(start.membership.rank, 2);
  EXPECT_EQ(start.membership.role_rank, 1);
  EXPECT_EQ(start.membership.world_size, 4);
  EXPECT_EQ(start.membership.generation, 3U);
}

TEST(WorkerEnvironmentOfSdk, AllThatIsWrongIsSaidAtOnce) {
  Variables odd = kWorker;
  odd.erase("ORRERY_WORKER");
  odd["ORRERY_RANK"] = "two";
  odd["ORRERY_WORLD_SIZE"] = "0";
  odd["ORRERY_SERVER_URL"] = "http://192.0.2.1:1";
  EXPECT_THAT(findings([&] { (void)worker_start(of(odd)); }),
              ::testing::ElementsAre(::testing::HasSubstr("ORRERY_WORKER: found none"),
                                     ::testing::HasSubstr("ORRERY_RANK: found \"two\""),
                                     ::testing::HasSubstr("ORRERY_WORLD_SIZE: found \"0\""),
                                     ::testing::HasSubstr("travel in clear")));
}

TEST(DriverEnvironment, OptionsGoBeforeVariables) {
  const DirectoryAccess by_variables =
      driver_access({}, of({{"ORRERY_SERVER", "http://127.0.0.1:5"}, {"ORRERY_JOB", "a"}}));
  EXPECT_EQ(by_variables.controller.url, "http://127.0.0.1:5");
  EXPECT_EQ(by_variables.job, "a");
  EXPECT_FALSE(by_variables.caller.empty());
  const DirectoryAccess given =
      driver_access({"unix:/run/orrery.sock", "b", "token", "", "me"}, of({{"ORRERY_JOB", "a"}}));
  EXPECT_EQ(given.job, "b");
  EXPECT_EQ(given.caller, "me");
  EXPECT_EQ(given.controller.url_file, "");
  // A role of the job that drives the others has the worker's own name.
  EXPECT_EQ(driver_access({}, of(kWorker)).caller, "");
  EXPECT_THAT(findings([] {
                (void)driver_access({"ftp://x", "", "", "", "no name"}, of({}));
              }),
              ::testing::SizeIs(3));
}

TEST(DriverEnvironment, SeveralControllersAreNamedByCommas) {
  DirectoryAccess several = driver_access(
      {}, of({{"ORRERY_SERVER", "http://127.0.0.1:5, unix:/run/o.sock"}, {"ORRERY_JOB", "a"}}));
  EXPECT_THAT(addresses_of(several.controller),
              ::testing::ElementsAre("http://127.0.0.1:5", "unix:/run/o.sock"));
  turn_to_next(several.controller);
  EXPECT_THAT(addresses_of(several.controller),
              ::testing::ElementsAre("unix:/run/o.sock", "http://127.0.0.1:5"));
  EXPECT_THAT(findings([] {
                (void)driver_access({"http://127.0.0.1:5,ftp://x", "a", "", "", "me"}, of({}));
              }),
              ::testing::ElementsAre(::testing::HasSubstr("found \"ftp://x\"")));
}

TEST(MembershipLines, AreReadOrNothing) {
  const std::optional<Membership> told = membership_in(
      R"({"membership":{"generation":2,"rank":1,"world_size":2,"master":{"address":"10.0.0.7","port":22270},
"members":[{"rank":0,"role":"trainer","local_rank":0,"node":"n0","address":"10.0.0.7","first_port":22270},
{"rank":1,"role":"actor","local_rank":0,"node":"n1","address":"10.0.0.8","first_port":22280}]}})");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->generation, 2U);
  EXPECT_EQ(told->role_rank, 0);
  EXPECT_EQ(told->master_address, "10.0.0.7");
  EXPECT_EQ(told->members[1].role, "actor");
  EXPECT_FALSE(membership_in(R"({"error":"what"})"));
  EXPECT_FALSE(membership_in(R"({"membership":7})"));
  EXPECT_FALSE(membership_in("nonsense"));
}

}  // namespace
}  // namespace orrery::sdk::detail
