// What must hold in an explored world.
#include <algorithm>

#include "sim/explore/explored_world.hpp"
#include "sim/storm/process_check.hpp"

namespace orrery::sim {
namespace {

TrueProcess true_of(const NodeHost& host, const AgentWorker& process, const JobSpec& spec) {
  TrueProcess out;
  out.name = {process.name.job, process.name.incarnation, process.name.birth_rank};
  out.born = process.born;
  out.role = process.slot.role;
  out.local_rank = process.slot.local_rank;
  out.node = host.id();
  out.devices = process.devices;
  out.share = process.share;
  out.bundle = spec.roles.front().bundle;
  return out;
}

}  // namespace

void ExploredWorld::add(ViolationKind kind, std::string text) {
  found_.add(kind, now(), std::move(text));
}

// No two living processes have one place or one device. The older one first, for that is how the
// storm's checker, which judges here, tells who came too early.
void ExploredWorld::check_processes() {
  std::vector<TrueProcess> living;
  for (std::size_t n = 0; n < bounds_.nodes; ++n)
    for (const auto& [name, process] : node(n).host.processes())
      living.push_back(true_of(node(n).host, process, *specs_.front()));
  if (living.size() < 2) return;
  std::sort(living.begin(), living.end(), [](const TrueProcess& a, const TrueProcess& b) {
    return a.name != b.name ? a.name < b.name : a.node < b.node;
  });
  ProcessCheck check(groups_, Duration::forever(), found_);
  for (const TrueProcess& process : living) check.began(now(), process);
}

// A leader begins with all that is in the journal.
void ExploredWorld::check_begun(const ExploredLeader& leader) {
  const State& state = leader.state();
  if (state.sequence != journal_.get().last())
    add(ViolationKind::ReplayDiffers,
        "a leader begins at record " + std::to_string(state.sequence.value) + " of " +
            std::to_string(journal_.get().last().value));
  check_acknowledged(state, "leader " + std::to_string(leader.number().value));
}

void ExploredWorld::check_acknowledged(const State& state, const std::string& whose) {
  for (std::size_t c = 0; c < specs_.size(); ++c) {
    const ExploredClient& client = rest_.get().clients[c];
    const JobId job = client.accepted;
    if (job.is_none()) continue;
    const JobState* known = state.find(job);
    if (known == nullptr || known->spec->name != specs_[c]->name)
      add(ViolationKind::JobVanished,
          specs_[c]->name + " was acknowledged as job " + std::to_string(job.value) + ", " + whose +
              " does not know it");
    else if (client.stopped && !is_final(known->row.phase))
      add(ViolationKind::JobVanished,
          specs_[c]->name + " was stopped, and " + whose + " goes on with it");
  }
}

void ExploredWorld::answered(const AnswerRequest& answer) {
  const std::size_t c = (answer.request - 1) / 2;
  ExploredClient& client = rest_.edit().clients[c];
  if (answer.request == stop_of(c)) {
    client.stopped = true;
    return;
  }
  if (!client.accepted.is_none() && client.accepted != answer.job)
    add(ViolationKind::AcceptedTwice,
        specs_[c]->name + " was acknowledged as job " + std::to_string(client.accepted.value) +
            " and as job " + std::to_string(answer.job.value));
  client.accepted = answer.job;
}

}  // namespace orrery::sim
