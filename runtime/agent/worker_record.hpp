// What an agent remembers of a worker across its own lives: files `agent` and `cleaned` in the
// worker's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/agent/agent.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// Variable of a role whose workers are ready when they say so: "hello" where a worker counts as
/// ready once it has said hello on the agent's socket, not as soon as its program runs.
inline constexpr std::string_view kReadyVariable = "ORRERY_READY";

/// One worker as the agent started it, with its present place.
struct WorkerRecord {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  Generation born;
  RoleIndex role;
  std::int32_t local_rank = 0;
  Generation generation;
  Rank rank;
  std::uint32_t world_size = 0;
  std::uint64_t devices = 0;
  Share share;
  std::uint64_t hardware = 0;
  std::int32_t first_port = 0;
  JobId beside;
  Generation environment;         ///< Whose membership the worker's environment has.
  bool said_hello = false;        ///< On the agent's socket; it is told of memberships since.
  std::string token;              ///< By which the controller's HTTP server knows it.
  std::int32_t call_port = 0;     ///< At which it takes calls; 0: it has not said so.
  std::string call_certificate;   ///< SHA-256 of the certificate that it shows there; may be empty.
  bool has_turn = false;          ///< On its devices, among the workers of its job.
  RarePart<Diagnosis> diagnosis;  ///< What it said last of the end that it will have.

  WorkerName name() const { return {job, incarnation, birth_rank}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("born", self.born);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("generation", self.generation);
    v.field("rank", self.rank);
    v.field("world_size", self.world_size);
    v.field("devices", self.devices);
    v.field("share", self.share);
    v.field("hardware", self.hardware);
    v.field("first_port", self.first_port);
    v.field_since(4, "environment", self.environment);
    v.field_since(4, "said_hello", self.said_hello);
    v.field_since(4, "token", self.token);
    v.field_since(5, "beside", self.beside);
    v.field_since(5, "call_port", self.call_port);
    v.field_since(5, "call_certificate", self.call_certificate);
    v.field_since(5, "has_turn", self.has_turn);
    v.field_since(5, "diagnosis", self.diagnosis);
  }
};

WorkerRecord record_of(const SpawnWorker& order);

/// The same worker for the core, in the given state.
AgentWorker worker_of(const WorkerRecord& record, AgentWorkerState state);

/// The same worker for the core, after its end.
EndedWorker ended_of(const WorkerRecord& record, const WorkerStatus& status);

/// What the core is told of an end.
WorkerFact fact_of(const WorkerStatus& status);

/// "JOB-INCARNATION-RANK": the name of a worker's folder, and what it calls itself.
std::string folder_name_of(const WorkerName& worker);

/// Nothing where the text is not one.
std::optional<WorkerName> worker_named(std::string_view folder_name);

}  // namespace orrery::runtime
