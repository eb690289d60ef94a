// /api/v1/jobs/{job}/peers: where the workers of a job take calls, and who is told.
#include <map>
#include <optional>

#include "runtime/http/peers_api.hpp"
#include "tests/runtime/http/http_fixture.hpp"

namespace orrery::tests {
namespace peers_tests {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kTokenOfRank0 = "orrery_worker_of_rank_0";
const std::string kTokenOfRank1 = "orrery_worker_of_rank_1";

/// Two workers of one job, of which the second takes calls.
class TwoWorkers final : public runtime::TokenOwners {
 public:
  std::optional<WorkerName> owner(const std::string& token, const State&) const override {
    const auto found = owners.find(token);
    return found == owners.end() ? std::nullopt : std::optional(found->second);
  }

  const runtime::CallEndpoint* endpoint(const WorkerName& worker) const override {
    const auto found = endpoints.find(worker);
    return found == endpoints.end() ? nullptr : &found->second;
  }

  std::map<std::string, WorkerName> owners;
  std::map<WorkerName, runtime::CallEndpoint> endpoints;
};

class PeersTest : public HttpTest {
 protected:
  PeersTest() {
    const JobId job = control.running(JobBuilder("a").replicas(2).spec(), 2);
    const Incarnation first = control.with(
        [&](const State& state) { return state.find(job)->workers.front().incarnation; });
    control.running(JobBuilder("b").spec(), 1);
    for (std::uint32_t rank = 0; rank < 2; ++rank) names_.push_back({job, first, Rank{rank}});
    workers_.owners = {{kTokenOfRank0, names_[0]}, {kTokenOfRank1, names_[1]}};
    workers_.endpoints[names_[1]] = {kTokenOfRank1, 40123, std::string(64, 'a')};
    control.set_tokens(workers_);
    serve();
  }

  Answer ask(const std::string& job, const std::string& query, const std::string& token = {}) {
    return request(address(),
                   "GET",
                   "/api/v1/jobs/" + job + "/peers" + query,
                   {},
                   token.empty() ? "" : "Authorization: Bearer " + token + "\r\n");
  }

  static std::string text_of(const WorkerName& name) {
    return std::to_string(name.job.value) + "-" + std::to_string(name.incarnation.value) + "-" +
           std::to_string(name.birth_rank.value);
  }

  std::vector<WorkerName> names_;
  TwoWorkers workers_;
};

TEST_F(PeersTest, AWorkerIsToldWhereItsPeersTakeCallsUnderItsOwnName) {
  const Json told = ask("a", "", kTokenOfRank0).json();
  const std::string caller = text_of(names_[0]);
  EXPECT_EQ(told["caller"], caller);
  EXPECT_EQ(told["generation"], 1);
  ASSERT_EQ(told["peers"].size(), 2u);
  const Json& silent = told["peers"][0];
  EXPECT_EQ(silent["port"], 0);
  EXPECT_EQ(silent["key"], "");
  const Json& listening = told["peers"][1];
  EXPECT_EQ(listening["worker"], text_of(names_[1]));
  EXPECT_EQ(listening["role"], "worker");
  EXPECT_EQ(listening["role_rank"], 1);
  EXPECT_EQ(listening["address"], "10.0.0.1");
  EXPECT_EQ(listening["port"], 40123);
  EXPECT_EQ(listening["certificate"], std::string(64, 'a'));
  EXPECT_EQ(listening["key"], http::call_key(kTokenOfRank1, caller));
}

TEST_F(PeersTest, NoTokenIsToldAndEachCallerHasAKeyOfItsOwn) {
  const Answer one = ask("a", "?caller=one");
  const Answer other = ask("a", "?caller=other");
  EXPECT_EQ(one.json()["caller"], "driver:one");
  EXPECT_NE(one.json()["peers"][1]["key"], other.json()["peers"][1]["key"]);
  for (const Answer& answer : {one, other})
    EXPECT_EQ(answer.body.find(kTokenOfRank1), std::string::npos);
}

TEST_F(PeersTest, AWorkerCannotChooseAnotherNameNorAskAboutAnotherJob) {
  const Answer chosen = ask("a", "?caller=" + text_of(names_[1]), kTokenOfRank0);
  EXPECT_EQ(chosen.status, 403);
  EXPECT_THAT(message(chosen), HasSubstr(text_of(names_[0])));
  EXPECT_EQ(ask("a", "?caller=" + text_of(names_[0]), kTokenOfRank0).status, 200);
  EXPECT_EQ(ask("b", "", kTokenOfRank0).status, 403);
  EXPECT_EQ(ask("a", "", "orrery_worker_of_nothing").status, 401);
}

TEST_F(PeersTest, NamesOfDriversThatAreNoneAreRefused) {
  for (const std::string& name : {std::string(), std::string("a%20b"), std::string(65, 'a')})
    EXPECT_EQ(ask("a", "?caller=" + name).status, 400) << name;
  EXPECT_EQ(ask("a", "?caler=b").status, 400);
  EXPECT_EQ(ask("c", "?caller=b").status, 404);
}

// The expected digest was made with another implementation of HMAC:
// python3 -c 'import hmac; print(hmac.new(b"t", b"orrery-call/1 c", "sha256").hexdigest())'
TEST(CallKey, IsTheProtocols) {
  EXPECT_EQ(http::call_key("t", "c"),
            "ccdfa9cfe8767709c1882b0b71db7eb299caf9f4bd477abecca6e4a009cbc469");
}

}  // namespace peers_tests
}  // namespace orrery::tests
