#include "runtime/agent/membership_text.hpp"

#include "core/base/json_text.hpp"
#include "runtime/agent/known_jobs.hpp"

namespace orrery::runtime {
namespace {

std::string name_of(const Members& members, NodeId node) {
  for (const NodeAddress& each : members.nodes)
    if (each.node == node) return each.name;
  return {};
}

}  // namespace

std::string membership_text(const WorkerRecord& worker,
                            const JobSpec& job,
                            const Members& members) {
  Surroundings around;
  around.addresses = addresses_of(members);
  const workers::Endpoint master = job_master(worker.job, job, members.workers, around);
  JsonText json;
  json.begin_object().key("membership").begin_object();
  json.field("generation", worker.generation.value).field("rank", worker.rank.value);
  json.field("world_size", worker.world_size);
  json.key("master").begin_object();
  json.field("address", master.address).field("port", master.port).end_object();
  json.key("members").begin_array();
  for (const WorkerStart& member : members.workers) {
    json.begin_object().field("rank", member.rank.value);
    if (member.role.index() < job.roles.size())
      json.field("role", job.roles[member.role.index()].name);
    json.field("local_rank", member.local_rank);
    json.field("node", name_of(members, member.node));
    json.field("address", around.address_of(member.node));
    json.field("first_port", member.first_port).end_object();
  }
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace orrery::runtime
