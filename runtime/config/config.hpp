// The settings of the daemons, with their defaults. What reads them from YAML is beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/priority_class.hpp"
#include "core/job/spec.hpp"
#include "core/record/event.hpp"

namespace orrery::runtime {

/// Files in PEM form. All three or none.
struct TlsFiles {
  std::string ca;
  std::string certificate;
  std::string key;

  bool is_set() const { return !ca.empty() || !certificate.empty() || !key.empty(); }

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

/// Where the journal lives.
struct StoreConfig {
  std::string sqlite = "orrery.db";         ///< Path; not used with etcd.
  std::vector<std::string> etcd_endpoints;  ///< "127.0.0.1:2379"; empty: SQLite.
  std::string etcd_prefix = "/orrery";
  TlsFiles etcd_tls;
  Duration leader_lease = Duration::seconds(3);  ///< Of etcd: how long a dead leader is waited for.
  std::uint64_t snapshot_every = 20'000;         ///< Records.
};

/// The process that runs the policy.
struct PlannerConfig {
  Duration deadline = Duration::seconds(30);  ///< For one plan; a later one is lost.
  Bytes memory{std::int64_t{8} << 30};        ///< Most that it may map.
};

/// The processes that forecast.
struct ForecastConfig {
  Duration deadline = Duration::seconds(10);  ///< For one answer.
  Bytes memory{std::int64_t{2} << 30};        ///< Most that one may map.
  Duration refresh = Duration::seconds(30);   ///< Of what is expected of all that wait; 0: never.
  std::uint64_t records = 2'000'000;          ///< Of one run at most.
  std::string accuracy_file;  ///< What came of forecasts; empty: beside the journal of SQLite.
};

/// `orrery controller`.
struct ControllerConfig {
  std::string name;                                ///< For people and for election; default: host.
  std::string agents_address = "127.0.0.1:22101";  ///< gRPC; or "unix:/path".
  std::string http_address = "127.0.0.1:22100";
  std::string advertised_url;  ///< HTTP address that workers and followers are told; default made.
  TlsFiles tls;             ///< For both; needed unless the address is loopback or a Unix socket.
  std::string tokens_file;  ///< Bearer tokens of HTTP, as `orrery certs token` writes them.
  StoreConfig store;
  std::string policy = "fifo";
  std::vector<KeyValue> policy_parameters;
  PlannerConfig planner;
  ForecastConfig forecast;
  Settings settings;              ///< `policy` and its triggers are filled in from the policy.
  std::vector<NodeGroup> groups;  ///< Declared beforehand: racks, domains, spares of named nodes.
  std::vector<Quota> quotas;
  std::vector<PriorityClass> priority_classes;  ///< Beside normal and high, or in their place.
  bool closed_cluster = false;                  ///< Only nodes of `groups` may join.
  std::vector<std::string> relaunch_command;    ///< Program that replaces nodes; gets their names.
  Duration relaunch_command_timeout = Duration::seconds(900);
  bool node_check = false;  ///< Nodes are checked in pairs before they are used.
  Duration hello_within =
      Duration::seconds(10);  ///< No option: a stream without a hello ends then.
};

/// What an agent may offer instead of what it finds.
struct InventoryConfig {
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;
  std::optional<std::int32_t> devices;  ///< Pretended ones of `device_model`, for trying things.
  std::string device_model;
  std::string nvml_library;                 ///< Path; empty: the usual names.
  std::string hardware_file;                ///< Custom hardware.
  PortRange ports = PortRange::standard();  ///< At which workers here listen.
};

/// `orrery agent`.
struct AgentConfig {
  std::string node;  ///< Its name, a DNS label; default: the host's.
  std::string group = "default";
  std::vector<std::string> controllers{"127.0.0.1:22101"};  ///< Tried in turn.
  std::string address = "127.0.0.1";   ///< At which other nodes reach workers here.
  std::string state = "orrery-agent";  ///< Folder.
  TlsFiles tls;
  InventoryConfig inventory;
  std::string worker_user;                ///< Workers run as this user; empty: as the agent.
  std::vector<std::string> volume_roots;  ///< Host folders that jobs may mount; empty: none.
  std::string container_runtime;          ///< "podman"; empty: images are named in a warning only.
  Bytes log_size{16 << 20};               ///< Of one file of a worker's log.
  std::int32_t log_files = 2;             ///< Kept per worker, the current one included.
  bool kill_workers_at_exit = false;      ///< On SIGTERM: workers end with it, nothing is left.
  Duration preemption_notice = Duration::seconds(30);  ///< How long the node stays after SIGUSR1.
  std::string launcher;                                ///< "", "slurm".
};

}  // namespace orrery::runtime
