#include <gmock/gmock.h>

#include "runtime/config/read/config_reader.hpp"

namespace orrery::runtime {
namespace {

using ::testing::ElementsAre;

ConfigText source(std::string text, std::string host = "Gpu-7.example") {
  return {std::move(text), "conf/agent.yaml", {}, std::move(host)};
}

std::vector<std::string> errors_of(const ConfigText& text) {
  const auto config = read_agent_config(text);
  std::vector<std::string> lines;
  if (!config)
    for (const Error& error : config.errors()) lines.push_back(error.text());
  return lines;
}

TEST(AgentConfig, NeedsNoFile) {
  const auto config = read_agent_config({"", "", {}, "Gpu-7.example"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->node, "gpu-7");
  EXPECT_EQ(config->group, "default");
  EXPECT_THAT(config->controllers, ElementsAre("127.0.0.1:22101"));
  EXPECT_FALSE(config->inventory.cpu);
  EXPECT_FALSE(config->inventory.devices);
}

TEST(AgentConfig, ReadsEveryKey) {
  const auto config = read_agent_config(source(R"(
node: gpu-1
group: h200
controllers: [10.0.0.1:22101, "unix:/run/c.sock"]
address: fe80::7
state: /var/lib/orrery
tls: {ca: ca.pem, certificate: c.pem, key: c.key}
inventory: {cpu: 1500m, memory: 2GiB, devices: 2, device_model: h200, nvml_library: lib/nvml.so,
  hardware_file: arms.json, ports: 9000-9099}
worker_user: training
volume_roots: [/data, /scratch/a]
container_runtime: podman
log_size: 1MiB
log_files: 3
kill_workers_at_exit: true
preemption_notice: 2min
launcher: slurm
)"));
  ASSERT_TRUE(config) << config.errors()[0].text();
  EXPECT_EQ(config->node, "gpu-1");
  EXPECT_EQ(config->group, "h200");
  EXPECT_THAT(config->controllers, ElementsAre("10.0.0.1:22101", "unix:/run/c.sock"));
  EXPECT_EQ(config->address, "fe80::7");
  EXPECT_EQ(config->state, "/var/lib/orrery");
  EXPECT_EQ(config->tls, (TlsFiles{"conf/ca.pem", "conf/c.pem", "conf/c.key"}));
  EXPECT_EQ(config->inventory.cpu, MilliCpu{1500});
  EXPECT_EQ(config->inventory.memory, Bytes{std::int64_t{2} << 30});
  EXPECT_EQ(config->inventory.devices, 2);
  EXPECT_EQ(config->inventory.ports, (PortRange{9000, 100}));
  EXPECT_EQ(config->inventory.device_model, "h200");
  EXPECT_EQ(config->inventory.nvml_library, "conf/lib/nvml.so");
  EXPECT_EQ(config->inventory.hardware_file, "conf/arms.json");
  EXPECT_EQ(config->worker_user, "training");
  EXPECT_THAT(config->volume_roots, ElementsAre("/data", "/scratch/a"));
  EXPECT_EQ(config->container_runtime, "podman");
  EXPECT_EQ(config->log_size, Bytes{1 << 20});
  EXPECT_EQ(config->log_files, 3);
  EXPECT_TRUE(config->kill_workers_at_exit);
  EXPECT_EQ(config->preemption_notice, Duration::seconds(120));
  EXPECT_EQ(config->launcher, "slurm");
}

TEST(AgentConfig, AModelAloneChoosesAmongTheDevicesThatAreFound) {
  const auto config = read_agent_config(source("inventory: {device_model: h200}\n"));
  ASSERT_TRUE(config) << config.errors()[0].text();
  EXPECT_EQ(config->inventory.device_model, "h200");
  EXPECT_FALSE(config->inventory.devices);
  EXPECT_THAT(errors_of(source("inventory: {device_model: h200, devices: 0}\n")),
              ElementsAre("conf/agent.yaml:1: inventory.device_model: names a model, but devices: "
                          "0 hides all; remove one of them"));
}

TEST(AgentConfig, SaysAllThatIsWrongAtOnceWithItsLine) {
  EXPECT_THAT(
      errors_of(source("node: Gpu\n"
                       "controllers: [10.0.0.1:22101]\n"
                       "address: 10.0.0.1:5\n"
                       "inventory: {devices: 2, gpus: 3, ports: 9000}\n"
                       "volume_roots: [data, /a/../etc]\n"
                       "log_size: 1kB\n"
                       "launcher: pbs\n"
                       "worker_user: 'a b'\n")),
      ElementsAre(
          "conf/agent.yaml:1: node: is 'Gpu', a DNS label (a-z, 0-9, '-') is needed; write for "
          "example gpu-1",
          "conf/agent.yaml:2: controllers: is 10.0.0.1:22101, which other machines reach, and "
          "there are no certificates, mutual TLS is needed there; make them with `orrery certs "
          "init` and name them under tls, or use 127.0.0.1 or unix:/PATH",
          "conf/agent.yaml:3: address: is '10.0.0.1:5', a host without a port is needed, at which "
          "other nodes reach this one; write for example 10.0.0.7",
          "conf/agent.yaml:4: inventory.gpus: is no key here, the nearest is 'cpu'; rename or "
          "remove it",
          "conf/agent.yaml:4: inventory.devices: asks for pretended devices, and no device_model "
          "says what they are; add for example device_model: gpu",
          "conf/agent.yaml:4: inventory.ports: is '9000', the first and last of 1 to 65535 with a "
          "dash between them are needed; write for example 22270-32767",
          "conf/agent.yaml:5: volume_roots: has 'data', a path from the root without '..' is "
          "needed; write for example /data",
          "conf/agent.yaml:5: volume_roots: has '/a/../etc', a path from the root without '..' is "
          "needed; write for example /data",
          "conf/agent.yaml:6: log_size: is 1000 bytes, 64KiB to 1TiB are needed; write for example "
          "16MiB",
          "conf/agent.yaml:7: launcher: is 'pbs', slurm or nothing is needed; correct or remove it",
          "conf/agent.yaml:8: worker_user: is 'a b', the name of a user of this machine is needed; "
          "write for example training"));
}

TEST(AgentConfig, AHostWithoutAUsableNameNeedsOne) {
  EXPECT_THAT(errors_of(source("group: a\n", "my_host")),
              ElementsAre("conf/agent.yaml:1: node: is missing, it is needed; write for example "
                          "node: gpu-1 (this machine is called 'my_host', which gives no DNS "
                          "label)"));
  EXPECT_TRUE(read_agent_config(source("node: a\n", "my_host")));
}

TEST(AgentConfig, NoListOfControllersIsEmpty) {
  EXPECT_EQ(errors_of(source("controllers: []\n")).size(), 1U);
}

}  // namespace
}  // namespace orrery::runtime
