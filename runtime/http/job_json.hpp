// Jobs as clients read them: copied on the core thread, written on the I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/control/status.hpp"
#include "runtime/controller/control_api.hpp"

namespace orrery::http {

/// One worker of the present generation.
struct Member {
  Rank rank;
  std::string role;
  std::int32_t local_rank = 0;
  std::string node;
  std::string address;          ///< Of its node; empty where none is known.
  std::int32_t first_port = 0;  ///< 0: it has none.
  WorkerState state = WorkerState::Claimed;
  std::int32_t exit_code = 0;
  std::vector<std::int32_t> devices;  ///< Of its node, ascending.
  Incarnation incarnation;
  Rank birth_rank;
  Generation born;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("rank", self.rank);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("node", self.node);
    v.field("address", self.address);
    v.field("first_port", self.first_port);
    v.field("state", self.state);
    v.field("exit_code", self.exit_code);
    v.field("devices", self.devices);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("born", self.born);
  }
};

/// The workers of a job now.
struct Membership {
  std::string job;
  JobPhase phase = JobPhase::Pending;
  Generation generation;
  std::int32_t world_size = 0;
  std::vector<Member> members;  ///< By rank.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("phase", self.phase);
    v.field("generation", self.generation);
    v.field("world_size", self.world_size);
    v.field("members", self.members);
  }
};

/// A job with all that is told of it.
struct JobSnapshot {
  JobId id;
  JobStatus status;
  std::shared_ptr<const JobSpec> spec;
  std::vector<Member> members;
  Instant expected_start = Instant::never();  ///< By the last forecast; never: it told none.
  Instant expected_as_of = Instant::never();  ///< When that was made.
};

/// Name of a node; "node-3" where none was declared.
std::string node_name(const runtime::ControlView& view, NodeId id);

/// Where a worker is reached: "10.0.0.1:22270"; empty where it has no address or no port yet.
std::string worker_address(const runtime::ControlView& view, const Worker& worker);

std::vector<Member> members_of(const runtime::ControlView& view, const JobState& job);

Membership membership_of(const runtime::ControlView& view, const JobState& job);

JobSnapshot take_snapshot(const runtime::ControlView& view,
                          const JobState& job,
                          bool with_members,
                          const QueueStandings* queues = nullptr);

/// A job as in a list: its status, number, group, priority, labels.
void write_job(JsonText& json, const JobSnapshot& job);

/// A job with its members, its specification, and `events`: JSON objects.
std::string job_json(const JobSnapshot& job, const std::vector<std::string>& events);

std::string membership_json(const Membership& membership);

}  // namespace orrery::http
