#include "runtime/launch/systemd_unit.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/launch/watched_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace {

/// "Section.Key" to the value; reports lines that are neither.
std::map<std::string, std::string> keys_of(const std::string& unit) {
  std::map<std::string, std::string> keys;
  std::istringstream lines(unit);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const std::size_t equals = line.find('=');
    EXPECT_NE(equals, std::string::npos) << line;
    const std::string key = section + "." + line.substr(0, equals);
    EXPECT_TRUE(keys.emplace(key, line.substr(equals + 1)).second) << key << " twice";
  }
  return keys;
}

/// What `systemd-analyze verify` says of a unit; skips where there is none.
void expect_sound(const std::string& unit, const std::string& name) {
  const TemporaryFolder folder;
  const std::string file = folder.file(name);
  std::ofstream(file) << unit;
  const std::atomic<bool> stopping = false;
  const ProcessEnd end =
      run_watched({"systemd-analyze", "verify", "--man=no", file}, Duration::seconds(60), stopping);
  if (end.kind == ProcessEnd::Kind::NotStarted)
    GTEST_SKIP() << "systemd-analyze: " << end.complaint;
  // It also judges units of this machine; only what it says of this one counts.
  std::istringstream lines(end.complaint);
  for (std::string line; std::getline(lines, line);)
    EXPECT_EQ(line.find(name), std::string::npos) << line << "\n" << unit;
  EXPECT_EQ(end.kind, ProcessEnd::Kind::Exited);
}

UnitSpec spec() { return {"/bin/true", "/etc/orrery/agent.yaml", ""}; }

TEST(AgentUnit, LeavesWorkersAloneWhenTheAgentEnds) {
  const auto keys = keys_of(agent_unit(spec(), {}).value());
  EXPECT_EQ(keys.at("Service.ExecStart"),
            "\"/bin/true\" agent --config \"/etc/orrery/agent.yaml\"");
  EXPECT_EQ(keys.at("Service.KillMode"), "process");
  EXPECT_EQ(keys.at("Service.Restart"), "always");
  EXPECT_EQ(keys.at("Service.Delegate"), "yes");
  EXPECT_EQ(keys.at("Service.OOMPolicy"), "continue");
  EXPECT_EQ(keys.at("Unit.StartLimitIntervalSec"), "0") << "it is never given up";
  EXPECT_EQ(keys.at("Install.WantedBy"), "multi-user.target");
  // These would take devices, /tmp, homes, cgroups, fabrics or just-in-time code from workers.
  for (const char* breaks : {"PrivateTmp",
                             "PrivateDevices",
                             "ProtectHome",
                             "ProtectClock",
                             "ProtectControlGroups",
                             "ProtectKernelModules",
                             "DevicePolicy",
                             "MemoryDenyWriteExecute",
                             "RestrictAddressFamilies",
                             "PrivateNetwork",
                             "RestrictNamespaces",
                             "RestrictRealtime"})
    EXPECT_FALSE(keys.contains(std::string("Service.") + breaks)) << breaks;
}

TEST(AgentUnit, LeavesContainersTheirSetuidPrograms) {
  AgentConfig config;
  EXPECT_TRUE(keys_of(agent_unit(spec(), config).value()).contains("Service.NoNewPrivileges"));
  config.container_runtime = "podman";
  EXPECT_FALSE(keys_of(agent_unit(spec(), config).value()).contains("Service.NoNewPrivileges"));
}

TEST(AgentUnit, QuotesWhatItIsGiven) {
  UnitSpec odd = spec();
  odd.program = "/opt/a b/100%/$x\"";
  odd.user = "orrery";
  const auto keys = keys_of(agent_unit(odd, {}).value());
  EXPECT_EQ(keys.at("Service.ExecStart"),
            "\"/opt/a b/100%%/$$x\\\"\" agent --config \"/etc/orrery/agent.yaml\"");
  EXPECT_EQ(keys.at("Service.User"), "orrery");
}

TEST(AgentUnit, RefusesWhatNoUnitCanHold) {
  EXPECT_EQ(agent_unit({"orrery", "agent.yaml", "a b"}, {}).errors().size(), 3U);
  EXPECT_FALSE(agent_unit({"/bin/true\nExecStart=/bin/sh", "", ""}, {}));
}

TEST(AgentUnit, IsSoundToSystemd) {
  expect_sound(agent_unit(spec(), {}).value(), "orrery-agent.service");
}

TEST(ControllerUnit, IsClosedUnlessItReplacesNodes) {
  ControllerConfig config;
  const auto closed = keys_of(controller_unit(spec(), config).value());
  EXPECT_EQ(closed.at("Service.ProtectSystem"), "strict");
  EXPECT_EQ(closed.at("Service.DynamicUser"), "yes");
  EXPECT_EQ(closed.at("Service.StateDirectory"), "orrery");
  EXPECT_FALSE(closed.contains("Service.KillMode"));
  config.relaunch_command = {"replace"};
  const auto opened = keys_of(controller_unit(spec(), config).value());
  EXPECT_FALSE(opened.contains("Service.ProtectSystem"));
  EXPECT_TRUE(opened.contains("Service.NoNewPrivileges"));
}

TEST(ControllerUnit, IsSoundToSystemd) {
  expect_sound(controller_unit(spec(), {}).value(), "orrery-controller.service");
}

}  // namespace
}  // namespace orrery::runtime
