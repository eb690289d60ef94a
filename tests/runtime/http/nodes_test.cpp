// /api/v1/nodes, /api/v1/cluster, /metrics, and whether the documents name all there is.
#include <yaml-cpp/yaml.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/runtime/http/http_fixture.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::tests {
namespace nodes_tests {

using testing::HasSubstr;
using Json = nlohmann::json;

class NodesTest : public HttpTest {
 protected:
  NodesTest() { serve(); }
};

TEST_F(NodesTest, NodesAreListedWithWhatTheyHold) {
  control.running(JobBuilder("a").replicas(3).spec(), 3);
  const Json nodes = get("/api/v1/nodes").json()["nodes"];
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0]["name"], "n0");
  EXPECT_EQ(nodes[0]["state"], "ready");
  EXPECT_EQ(nodes[0]["devices"], 4);
  EXPECT_EQ(nodes[0]["devices_held"], 3);
  EXPECT_EQ(nodes[0]["workers"], 3);
  EXPECT_EQ(nodes[0]["device_model"], "h200");
  EXPECT_EQ(nodes[0]["address"], "10.0.0.1");
  EXPECT_EQ(nodes[1]["devices_held"], 0);
}

TEST_F(NodesTest, OneNodeNamesItsWorkers) {
  control.running(JobBuilder("a").replicas(2).spec(), 2);
  const Json node = get("/api/v1/nodes/n0").json();
  ASSERT_EQ(node["members"].size(), 2u);
  EXPECT_EQ(node["members"][1],
            Json::parse(R"({"job":"default.a","role":"worker","rank":1,"state":"Ready",
                            "devices":[1]})"));
  EXPECT_EQ(get("/api/v1/nodes/n9").status, 404);
}

TEST_F(NodesTest, ExcludedNodesAreListedAsSuchUntilTheyAreIncluded) {
  EXPECT_EQ(post("/api/v1/nodes/n2/exclude").status, 200);
  EXPECT_EQ(get("/api/v1/nodes?state=excluded").json()["nodes"][0]["name"], "n2");
  EXPECT_THAT(get("/api/v1/nodes/n2").json()["message"].get<std::string>(), HasSubstr("included"));
  EXPECT_EQ(post("/api/v1/nodes/n2/include").status, 200);
  EXPECT_EQ(get("/api/v1/nodes?state=excluded").json()["nodes"].size(), 0u);
  EXPECT_EQ(get("/api/v1/nodes?state=ready&group=default").json()["nodes"].size(), 4u);
  EXPECT_EQ(get("/api/v1/nodes?state=happy").status, 400);
  EXPECT_EQ(post("/api/v1/nodes/n9/exclude").status, 404);
}

TEST_F(NodesTest, ASilentNodeIsSilent) {
  control.step(NodeSilent{NodeId{1}});
  EXPECT_EQ(get("/api/v1/nodes/n1").json()["state"], "silent");
}

TEST_F(NodesTest, TheClusterInTotals) {
  control.running(JobBuilder("a").replicas(3).spec(), 3);
  control.step(QuotasDeclared{{{"namespace/default", 8}}});
  const Json cluster = get("/api/v1/cluster").json();
  EXPECT_EQ(cluster["devices"], Json::parse(R"({"total":16,"usable":16,"free":13})"));
  EXPECT_EQ(cluster["jobs"]["Running"], 1);
  EXPECT_EQ(cluster["nodes"]["ready"], 4);
  EXPECT_EQ(cluster["totals"]["submitted"], 1);
  EXPECT_EQ(cluster["quotas"][0]["held"], 3);
  EXPECT_EQ(cluster["admission"], "open");
}

TEST_F(NodesTest, QueuesAreListedWithTheirShares) {
  EXPECT_EQ(get("/api/v1/queues").json()["queues"].size(), 0u) << "there are none";
  Settings settings;
  settings.queues = "research weight=3; vision parent=research limit=8; default";
  control.step(EpochStarted{Epoch{2}, settings});
  JobBuilder job("a");
  job.replicas(3);
  job.raw().group = "vision";
  control.running(job.spec(), 3);
  const Json queues = get("/api/v1/queues").json()["queues"];
  ASSERT_EQ(queues.size(), 3u);
  EXPECT_EQ(queues[1]["name"], "vision");
  EXPECT_EQ(queues[1]["parent"], "research");
  EXPECT_EQ(queues[1]["used"], 3);
  EXPECT_EQ(queues[1]["share"], 3);
  EXPECT_EQ(queues[1]["limit"], 8);
  EXPECT_NE(get("/metrics").body.find("orrery_queue_used_devices{queue=\"vision\"} 3"),
            std::string::npos);
  EXPECT_EQ(get("/api/v1/queues?name=x").status, 400);
}

// --- metrics ---

std::map<std::string, double> samples(const std::string& text) {
  std::map<std::string, double> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    out[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return out;
}

TEST_F(NodesTest, MetricsCountWhatThereIs) {
  control.running(JobBuilder("a").replicas(3).spec(), 3);
  control.step(QuotasDeclared{{{"group/\"x\\", 8}}});
  get("/nothing");
  const Answer answer = get("/metrics");
  EXPECT_EQ(answer.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const auto now = samples(answer.body);
  EXPECT_EQ(now.at("orrery_jobs{phase=\"Running\"}"), 1);
  EXPECT_EQ(now.at("orrery_devices_held"), 3);
  EXPECT_EQ(now.at("orrery_workers_ready"), 3);
  EXPECT_EQ(now.at("orrery_nodes{standing=\"ready\"}"), 4);
  EXPECT_EQ(now.at("orrery_admission{state=\"open\"}"), 1);
  EXPECT_EQ(now.at("orrery_http_responses_total{code=\"404\"}"), 1);
  EXPECT_EQ(now.at("orrery_quota_devices{scope=\"group/\\\"x\\\\\"}"), 8);
}

TEST_F(NodesTest, ANodeThatIsExcludedAlertsNoMoreThoughItIsSilent) {
  control.step(NodeSilent{NodeId{1}});
  EXPECT_EQ(samples(get("/metrics").body).at("orrery_nodes{standing=\"silent\"}"), 1);
  control.step(ExclusionRequested{.node = NodeId{1}});
  const auto now = samples(get("/metrics").body);
  EXPECT_EQ(now.at("orrery_nodes{standing=\"silent\"}"), 0);
  EXPECT_EQ(now.at("orrery_nodes{standing=\"excluded\"}"), 1);
}

TEST_F(NodesTest, NothingIsSaidOfJobsBeforeTheStoreIsOpen) {
  control.set_facts([](auto& facts) {
    facts.admission = runtime::Admission::StoreFailed;
    facts.has_state = false;
    facts.why = "the journal is in use";
  });
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/a", "/api/v1/nodes", "/api/v1/events"}) {
    const Answer answer = get(path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_THAT(answer.body, testing::HasSubstr("the journal is in use")) << path;
  }
}

TEST_F(NodesTest, AnEmptyLabelIsRefused) {
  EXPECT_EQ(get("/api/v1/jobs?label=team").status, 400);
  EXPECT_EQ(get("/api/v1/jobs?label=team=").status, 200);
}

TEST_F(NodesTest, MetricsAreThereBeforeTheControllerLeads) {
  control.set_facts([](auto& facts) { facts.admission = runtime::Admission::Starting; });
  EXPECT_EQ(samples(get("/metrics").body).at("orrery_admission{state=\"starting\"}"), 1);
}

TEST_F(NodesTest, EveryMetricIsDocumentedAndEveryDocumentedOneIsThere) {
  std::set<std::string> told;
  std::istringstream lines(get("/metrics").body);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex("# TYPE (\\S+) (counter|gauge|histogram)")))
      told.insert(found[1].str() + " " + found[2].str());
  }
  std::set<std::string> documented;
  const std::string text = text_of_file(std::string(ORRERY_SOURCE_ROOT) + "/docs/metrics.md");
  const std::regex row("\\| `(orrery_\\w+)(?:\\{\\w+\\})?` \\| (counter|gauge|histogram) \\|");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it)
    documented.insert((*it)[1].str() + " " + (*it)[2].str());
  EXPECT_EQ(told, documented);
  EXPECT_GT(told.size(), 20u);
}

// --- the description ---

TEST_F(NodesTest, TheDescriptionNamesEveryRouteAndEveryPathOfItIsRouted) {
  const Answer answer = get("/api/v1/openapi.yaml");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, text_of_file(std::string(ORRERY_SOURCE_ROOT) + "/docs/openapi.yaml"))
      << "built from another state of the tree";
  std::set<std::string> described;
  for (const auto& path : YAML::Load(answer.body)["paths"])
    for (const auto& method : path.second)
      if (const std::string name = method.first.as<std::string>(); name != "parameters")
        described.insert(name + " " + path.first.as<std::string>());
  std::set<std::string> routed;
  for (const http::Route& route : front->router().routes()) {
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    routed.insert(method + " " + route.path);
  }
  EXPECT_EQ(described, routed);
}

TEST_F(NodesTest, EveryOperationOfTheDescriptionHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const auto& path : YAML::Load(get("/api/v1/openapi.yaml").body)["paths"])
    for (const auto& method : path.second) {
      const std::string name = method.first.as<std::string>();
      if (name == "parameters") continue;
      const YAML::Node id = method.second["operationId"];
      ASSERT_TRUE(id) << name << " " << path.first.as<std::string>() << " has no operationId";
      EXPECT_TRUE(names.insert(id.as<std::string>()).second) << id.as<std::string>() << " twice";
    }
  EXPECT_GT(names.size(), 20u);
}

}  // namespace nodes_tests
}  // namespace orrery::tests
