#include "runtime/http/job_json.hpp"

#include "core/record/record_text.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;

std::string address_of(const ControlView& view, NodeId id) {
  return id.index() < view.nodes.size() ? view.nodes[id.index()].address : std::string();
}

std::vector<std::int32_t> bits_of(std::uint64_t mask) {
  std::vector<std::int32_t> out;
  for (std::int32_t bit = 0; bit < 64; ++bit)
    if ((mask >> bit & 1) != 0) out.push_back(bit);
  return out;
}

// The fields of a job beside its status, without those that only one job alone has.
void write_common(JsonFields& fields, const JobSnapshot& job) {
  JobStatus::fields(job.status, fields);
  fields.field("id", job.id);
  fields.field("group", *job.spec->group);
  fields.field("priority", job.spec->priority);
  fields.field("labels", job.spec->labels);
  fields.field("expected_start", job.expected_start);
  fields.field("expected_as_of", job.expected_as_of);
}

}  // namespace

std::string node_name(const ControlView& view, NodeId id) {
  if (id.index() < view.state.nodes.size() && !view.state.nodes[id.index()].name.empty())
    return view.state.nodes[id.index()].name;
  return id.is_none() ? std::string() : "node-" + std::to_string(id.value);
}

std::string worker_address(const ControlView& view, const Worker& worker) {
  const std::string address = address_of(view, worker.node);
  if (address.empty() || worker.first_port == 0 || !worker.is_alive()) return {};
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(worker.first_port);
}

std::vector<Member> members_of(const ControlView& view, const JobState& job) {
  std::vector<Member> out;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    Member& member = out.emplace_back();
    member.rank = Rank{static_cast<std::uint32_t>(i)};
    member.role = job.spec->roles[worker.role.index()].name;
    member.local_rank = worker.local_rank;
    member.node = node_name(view, worker.node);
    member.address = address_of(view, worker.node);
    member.first_port = worker.first_port;
    member.state = worker.state;
    member.exit_code = worker.exit_code;
    member.devices = bits_of(worker.devices);
    member.incarnation = worker.incarnation;
    member.birth_rank = worker.birth_rank;
    member.born = worker.born;
  }
  return out;
}

Membership membership_of(const ControlView& view, const JobState& job) {
  return {job.spec->name,
          job.row.phase,
          job.row.generation,
          static_cast<std::int32_t>(job.workers.size()),
          members_of(view, job)};
}

JobSnapshot take_snapshot(const ControlView& view,
                          const JobState& job,
                          bool with_members,
                          const QueueStandings* queues) {
  JobSnapshot out{job.row.id, status_of(view.state, job, queues), job.spec, {}};
  if (with_members) out.members = members_of(view, job);
  return out;
}

void write_job(JsonText& json, const JobSnapshot& job) {
  JsonFields fields(json, TimesAs::WithUtc);
  json.begin_object();
  write_common(fields, job);
  json.end_object();
}

std::string job_json(const JobSnapshot& job, const std::vector<std::string>& events) {
  JsonText json;
  JsonFields fields(json, TimesAs::WithUtc);
  json.begin_object();
  write_common(fields, job);
  fields.field("members", job.members);
  fields.field("spec", *job.spec);
  json.key("events").begin_array();
  for (const std::string& event : events) json.raw(event);
  json.end_array().end_object();
  return json.take();
}

std::string membership_json(const Membership& membership) {
  JsonText json;
  JsonFields(json, TimesAs::WithUtc).put(membership);
  return json.take();
}

}  // namespace orrery::http
