#include <gmock/gmock.h>

#include "runtime/config/read/config_reader.hpp"

namespace orrery::runtime {
namespace controller_config_tests {

using ::testing::ElementsAre;

ConfigText source(std::string text, std::vector<scenarios::Override> overrides = {}) {
  return {std::move(text), "conf/controller.yaml", std::move(overrides), "host.example"};
}

std::vector<std::string> errors_of(const ConfigText& text, const PolicyCheck& check = {}) {
  const auto config = read_controller_config(text, check);
  std::vector<std::string> lines;
  if (!config)
    for (const Error& error : config.errors()) lines.push_back(error.text());
  return lines;
}

TEST(ControllerConfig, NeedsNoFile) {
  const auto config = read_controller_config({"", "", {}, "host.example"}, {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->name, "host.example");
  EXPECT_EQ(config->http_address, "127.0.0.1:22100");
  EXPECT_EQ(config->store.sqlite, "orrery.db");
  EXPECT_EQ(config->policy, "fifo");
  EXPECT_EQ(config->settings, Settings{});
}

TEST(ControllerConfig, BoundsForecasts) {
  const auto config = read_controller_config(
      source("forecast: {deadline: 3s, memory: 1GiB, refresh: 0s, records: 5000, accuracy_file: "
             "right}\n"),
      {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->forecast.deadline, Duration::seconds(3));
  EXPECT_EQ(config->forecast.memory.count, 1 << 30);
  EXPECT_EQ(config->forecast.refresh, Duration::zero());
  EXPECT_EQ(config->forecast.records, 5000u);
  EXPECT_EQ(config->forecast.accuracy_file, "conf/right");
  const auto errors = errors_of(
      source("forecast: {deadline: 1ms, memory: 1MiB, refresh: 2h, records: 1, speed: 3}\n"));
  EXPECT_EQ(errors.size(), 5u);
}

TEST(ControllerConfig, ReadsEveryKey) {
  const auto config = read_controller_config(source(R"(
name: a
agents_address: 0.0.0.0:22101
http_address: "[::]:22100"
advertised_url: https://10.0.0.1:22100
tls: {ca: ca.pem, certificate: /etc/c.pem, key: c.key}
tokens_file: tokens
store:
  etcd_endpoints: [127.0.0.1:2379, 10.0.0.2:2379]
  etcd_prefix: /orrery/b
  etcd_tls: {ca: a, certificate: b, key: c}
  leader_lease: 5s
  snapshot_every: 100
policy: {name: easy, backfill_depth: 10}
placer: most_free
settings: {node_lease: 20s, fence_margin: 4s, takeover_grace: 2min, retain_finished: 1d,
  retain_finished_max: 5, preemption_grace: 30s, lemon_incidents: 3, lemon_window: 1d,
  exclusion: 2h}
seed: 7
cluster:
  groups:
    - {name: h200, node_names: ["gpu-[1-3]", login], gpu: h200, cpu: 96, memory: 1TiB,
       nodes_per_rack: 2, nodes_per_nvlink_domain: 2, spares: 1, hardware: {Arm: 2}}
    - {node_names: [cpu-1], devices_per_node: 0}
closed_cluster: true
quotas: {group/research: 64}
priority_classes: {production: 50, normal: 5}
relaunch_command: [bin/replace, --fast]
relaunch_command_timeout: 5min
node_check: true
)"),
                                             {});
  ASSERT_TRUE(config) << config.errors()[0].text();
  EXPECT_EQ(config->agents_address, "0.0.0.0:22101");
  EXPECT_EQ(config->http_address, "[::]:22100");
  EXPECT_EQ(config->advertised_url, "https://10.0.0.1:22100");
  EXPECT_EQ(config->tls, (TlsFiles{"conf/ca.pem", "/etc/c.pem", "conf/c.key"}));
  EXPECT_EQ(config->tokens_file, "conf/tokens");
  EXPECT_THAT(config->store.etcd_endpoints, ElementsAre("127.0.0.1:2379", "10.0.0.2:2379"));
  EXPECT_EQ(config->store.etcd_prefix, "/orrery/b");
  EXPECT_EQ(config->store.etcd_tls, (TlsFiles{"conf/a", "conf/b", "conf/c"}));
  EXPECT_EQ(config->store.leader_lease, Duration::seconds(5));
  EXPECT_EQ(config->store.snapshot_every, 100U);
  EXPECT_EQ(config->policy, "easy");
  EXPECT_THAT(config->policy_parameters, ElementsAre(KeyValue{"backfill_depth", "10"}));
  EXPECT_EQ(config->settings.placer, "most_free/1");
  EXPECT_EQ(config->settings.node_lease, Duration::seconds(20));
  EXPECT_EQ(config->settings.exclusion, Duration::seconds(7200));
  EXPECT_EQ(config->settings.seed, 7U);
  ASSERT_EQ(config->groups.size(), 2U);
  EXPECT_EQ(config->groups[0].name, "h200");
  EXPECT_EQ(config->groups[0].count, 4);
  EXPECT_THAT(config->groups[0].node_names, ElementsAre("gpu-1", "gpu-2", "gpu-3", "login"));
  EXPECT_EQ(config->groups[0].device_model, "h200");
  EXPECT_EQ(config->groups[0].spares, 1);
  EXPECT_EQ(config->groups[1].name, "group-1");
  EXPECT_EQ(config->groups[1].devices, 0);
  EXPECT_TRUE(config->closed_cluster);
  EXPECT_THAT(config->quotas, ElementsAre(Quota{"group/research", 64}));
  EXPECT_THAT(config->priority_classes,
              ElementsAre(PriorityClass{"production", 50}, PriorityClass{"normal", 5}));
  EXPECT_THAT(config->relaunch_command, ElementsAre("conf/bin/replace", "--fast"));
  EXPECT_EQ(config->relaunch_command_timeout, Duration::seconds(300));
  EXPECT_TRUE(config->node_check);
}

TEST(ControllerConfig, TakesQueuesAsScenariosDo) {
  const auto config = read_controller_config(source(R"(
policy:
  name: las
  queues:
    half_life: 12h
    tree:
      - {name: research, weight: 3, limit: 75%}
      - {name: vision, parent: research, user_limit: 8}
)"),
                                             {});
  ASSERT_TRUE(config) << config.errors()[0].text();
  EXPECT_THAT(config->policy_parameters,
              ElementsAre(KeyValue{"queues",
                                   "half_life=43200s; research weight=3 limit=75%; vision "
                                   "parent=research user_limit=8"}));
  EXPECT_THAT(errors_of(source("policy: {name: las, queues: {tree: [{name: a, parent: b}]}}\n")),
              ElementsAre(::testing::HasSubstr("queue a: parent: is 'b', which is no queue")));
}

TEST(ControllerConfig, SaysAllThatIsWrongAtOnceWithItsLine) {
  const std::string tls_needed =
      ", which other machines reach, and there are no certificates, mutual TLS is needed there; "
      "make them with `orrery certs init` and name them under tls, or use 127.0.0.1 or unix:/PATH";
  EXPECT_THAT(
      errors_of(
          source("agents_adress: x\n"
                 "http_address: 0.0.0.0:22100\n"
                 "agents_address: here\n"
                 "settings: {node_lease: 10, fence_margin: 12s}\n"
                 "store: {sqlite: a.db, etcd_endpoints: [10.0.0.1:2379], leader_lease: 1500ms}\n"
                 "advertised_url: http://10.0.0.1:22100\n"
                 "relaunch_command: []\n"
                 "closed_cluster: true\n")),
      ElementsAre(
          "conf/controller.yaml:1: agents_adress: is no key here, the nearest is "
          "'agents_address'; rename or remove it",
          "conf/controller.yaml:2: http_address: is 0.0.0.0:22100" + tls_needed,
          "conf/controller.yaml:3: agents_address: is 'here', HOST:PORT or unix:/PATH is needed; "
          "write for example 127.0.0.1:22100, [::1]:22100 or unix:/run/orrery.sock",
          "conf/controller.yaml:4: settings.node_lease: is '10', a time with a unit (ns, us, ms, "
          "s, min, h, d) below 292 years is needed; write for example 90s",
          "conf/controller.yaml:4: settings.fence_margin: is not shorter than node_lease, an agent "
          "must fence itself before its lease runs out; lower fence_margin or raise node_lease",
          "conf/controller.yaml:5: store.etcd_endpoints: is 10.0.0.1:2379" + tls_needed,
          "conf/controller.yaml:5: store.leader_lease: is no number of whole seconds from 1s to "
          "1h, in which etcd counts; write for example 3s",
          "conf/controller.yaml:5: store.sqlite: stands beside etcd_endpoints, one store is "
          "needed; remove one of the two",
          "conf/controller.yaml:6: advertised_url: is 'http://10.0.0.1:22100', which other "
          "machines would use unencrypted, https:// is needed there; use https:// or 127.0.0.1",
          "conf/controller.yaml:7: relaunch_command: names no program, one is needed; write for "
          "example [/usr/local/bin/replace-node] or remove it",
          "conf/controller.yaml:8: closed_cluster: is true, but no node is declared, so none may "
          "join; add cluster: groups"));
}

TEST(ControllerConfig, AValueOfAWrongTypeIsToldOnce) {
  EXPECT_THAT(errors_of(source("relaunch_command: bin/replace\n")),
              ElementsAre("conf/controller.yaml:1: relaunch_command: is 'bin/replace', a list is "
                          "needed; write each entry behind a '-'"));
}

TEST(ControllerConfig, NamesOfNodesAreSoundAndStandOnce) {
  EXPECT_THAT(
      errors_of(source("cluster:\n"
                       "  groups:\n"
                       "    - {node_names: [a, B, 'c[2-1]']}\n"
                       "    - {nodes: 3, node_names: [a]}\n"
                       "    - {nodes: 3}\n")),
      ElementsAre(
          "conf/controller.yaml:3: cluster.groups[0].node_names: has 'B', a DNS label (a-z, 0-9, "
          "'-') is needed; give the node such a name",
          "conf/controller.yaml:3: cluster.groups[0].node_names: has 'c[2-1]', a name or many in "
          "brackets are needed; write for example gpu-[1-8]",
          "conf/controller.yaml:4: cluster.groups[1].nodes: is 3, but node_names has 1; correct "
          "one of the two, or remove nodes",
          "conf/controller.yaml:4: cluster.groups[1].node_names: has 'a' a second time, once is "
          "needed; remove one",
          "conf/controller.yaml:5: cluster.groups[2].node_names: is missing, it is needed; write "
          "for example node_names: [gpu-1, gpu-2] or node_names: [\"gpu-[1-8]\"]"));
}

TEST(ControllerConfig, CertificatesComeInThrees) {
  EXPECT_THAT(errors_of(source("http_address: 0.0.0.0:1\ntls: {ca: ca.pem}\n")),
              ElementsAre("conf/controller.yaml:2: tls.certificate: is missing, it is needed; "
                          "write for example certificate: certs/certificate.pem",
                          "conf/controller.yaml:2: tls.key: is missing, it is needed; write for "
                          "example key: certs/key.pem"));
}

TEST(ControllerConfig, PoliciesAreJudgedByTheCallerWhoseErrorsGetTheirPlace) {
  const PolicyCheck check = [](const std::string& name, const std::vector<KeyValue>& parameters) {
    Errors errors;
    if (name == "esay") errors.push_back({ErrorCode::InvalidInput, {}, 0, "policy", "unknown"});
    for (const KeyValue& parameter : parameters)
      errors.push_back({ErrorCode::InvalidInput, {}, 0, "policy." + parameter.key, "unknown"});
    return errors;
  };
  EXPECT_THAT(errors_of(source("policy:\n  name: esay\n  depth: 3\n"), check),
              ElementsAre("conf/controller.yaml:2: policy: unknown",
                          "conf/controller.yaml:3: policy.depth: unknown"));
  EXPECT_THAT(errors_of(source("policy: easy\n", {{"policy.depth", "3"}}), check),
              ElementsAre("--set policy.depth=3: policy.depth: unknown"));
}

TEST(ControllerConfig, OverridesWinAndAreNamedWhereTheyAreWrong) {
  const auto config = read_controller_config(
      source("policy: fifo\nstore: {sqlite: a.db}\n",
             {{"store.sqlite", "b.db"}, {"settings.node_lease", "5s"}, {"policy", "easy"}}),
      {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->store.sqlite, "b.db");
  EXPECT_EQ(config->settings.node_lease, Duration::seconds(5));
  EXPECT_EQ(config->policy, "easy");
  EXPECT_THAT(errors_of(source("", {{"seed", "x"}, {"a[", "1"}})),
              ElementsAre("--set seed=x: seed: is 'x', a whole number from 0 to "
                          "9223372036854775807 is needed; correct it",
                          "--set a[=1: a[: is no path of keys joined by '.', with [index] for "
                          "lists; write for example jobs[0].priority"));
}

TEST(ControllerConfig, RefusesWhatIsNoMapOrNoYaml) {
  EXPECT_EQ(errors_of(source("- a\n")).size(), 1U);
  EXPECT_EQ(errors_of(source("a: [\n")).size(), 1U);
}

TEST(OpenConfig, NamesAFileThatCannotBeRead) {
  const auto text = open_config("no/such/file.yaml");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.errors()[0].text(),
            "no/such/file.yaml: settings: cannot be read, a readable file is needed; check the "
            "path");
  EXPECT_TRUE(open_config(""));
}

}  // namespace controller_config_tests
}  // namespace orrery::runtime
