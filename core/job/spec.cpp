#include "core/job/spec.hpp"

#include <algorithm>

#include "core/cluster/port_ledger.hpp"
#include "core/job/check_placement.hpp"
#include "core/job/check_program.hpp"

namespace orrery {

JobSpec::JobSpec() = default;
JobSpec::JobSpec(const JobSpec& other) = default;
JobSpec::JobSpec(JobSpec&& other) noexcept = default;
JobSpec& JobSpec::operator=(const JobSpec& other) = default;
JobSpec& JobSpec::operator=(JobSpec&& other) noexcept = default;
JobSpec::~JobSpec() = default;

RoleSpec::RoleSpec() = default;
RoleSpec::RoleSpec(const RoleSpec& other) = default;
RoleSpec::RoleSpec(RoleSpec&& other) noexcept = default;
RoleSpec& RoleSpec::operator=(const RoleSpec& other) = default;
RoleSpec& RoleSpec::operator=(RoleSpec&& other) noexcept = default;
RoleSpec::~RoleSpec() = default;

namespace {

void add(Errors& errors, std::string subject, std::string message) {
  errors.push_back({ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)});
}

bool is_sound(const Bundle& b) {
  return b.cpu.count >= 0 && b.memory.count >= 0 && b.devices >= 0 && b.devices <= 64 &&
         b.share.thousandths >= 1 && b.share.thousandths <= 1000 &&
         (b.share.is_whole() || b.devices == 1);
}

void check_bundle(const Bundle& b, const std::string& subject, Errors& errors) {
  if (b.cpu.count < 0) add(errors, subject, "cpu is negative, 0 or more is needed; correct it");
  if (b.memory.count < 0)
    add(errors, subject, "memory is negative, 0 or more is needed; correct it");
  if (b.devices < 0 || b.devices > 64)
    add(errors,
        subject,
        "asks for " + std::to_string(b.devices) +
            " devices, 0 to 64 fit on a node; split the role into more replicas");
  if (b.share.thousandths < 1 || b.share.thousandths > 1000)
    add(errors,
        subject,
        "share is " + std::to_string(b.share.thousandths) +
            " thousandths, 1 to 1000 is needed; correct it");
  if (!b.share.is_whole() && b.devices != 1)
    add(errors,
        subject,
        "asks for a part of " + std::to_string(b.devices) +
            " devices, a part can be taken of one only; set devices to 1");
}

// Built for findings only: most specifications are sound, and submissions come by the million.
std::string subject_of(const JobSpec& spec, const RoleSpec& role) {
  return spec.name + ": role " + (role.name.empty() ? "?" : role.name);
}

void check_replicas(const JobSpec& spec, const RoleSpec& role, Errors& errors) {
  if (role.min_replicas < 1)
    add(errors,
        subject_of(spec, role),
        "min_replicas is " + std::to_string(role.min_replicas) + ", 1 or more is needed; raise it");
  if (role.max_replicas < role.min_replicas)
    add(errors,
        subject_of(spec, role),
        "max_replicas is " + std::to_string(role.max_replicas) + " below min_replicas " +
            std::to_string(role.min_replicas) + "; raise max_replicas or lower min_replicas");
  if (role.max_replicas > kReplicasMax)
    add(errors,
        subject_of(spec, role),
        "max_replicas is " + std::to_string(role.max_replicas) + ", at most " +
            std::to_string(kReplicasMax) + " can be managed; lower it");
}

void check_role(const JobSpec& spec, std::size_t i, Errors& errors) {
  const RoleSpec& role = spec.roles[i];
  if (!is_dns_label(role.name))
    add(errors,
        subject_of(spec, role),
        "name is '" + role.name +
            "', a DNS label (a-z, 0-9, '-') is needed; give the role such a name");
  for (std::size_t k = 0; k < i; ++k) {
    if (spec.roles[k].name == role.name)
      add(errors,
          subject_of(spec, role),
          "the name stands twice, names are unique in a job; rename one");
    if (role.type != TaskType::None && spec.roles[k].type == role.type)
      add(errors,
          subject_of(spec, role),
          "a second task of type " + std::string(to_string(role.type)) +
              ", each type may stand once; use type none for the others");
  }
  check_replicas(spec, role, errors);
  if (!is_sound(role.bundle)) check_bundle(role.bundle, subject_of(spec, role), errors);
}

// A sub-master is one follower that leads another role, which has no other.
void check_sub_masters(const JobSpec& spec, Errors& errors) {
  for (std::size_t i = 0; i < spec.roles.size(); ++i) {
    const RoleSpec& master = spec.roles[i];
    if (master.master_of.is_none()) continue;
    const std::string subject = spec.name + ": role " + master.name;
    if (master.master_of.index() >= spec.roles.size() || master.master_of.index() == i ||
        !spec.roles[master.master_of.index()].master_of.is_none()) {
      add(errors, subject, "leads no other role of the job, one is needed; name another role");
      continue;
    }
    if (master.min_replicas != 1 || master.max_replicas != 1 ||
        master.completion != Completion::Follower)
      add(errors,
          subject,
          "leads a role but is not one follower, a sub-master has one replica and follows; set "
          "replicas: 1 and completion: follower");
    if (sub_master_of(spec, master.master_of).index() != i)
      add(errors,
          subject,
          "leads role " + spec.roles[master.master_of.index()].name +
              ", which has a sub-master already; remove one of them");
  }
}

void check_failover(const JobSpec& spec, Errors& errors) {
  const FailoverSpec& failover = *spec.failover;
  const auto limit = [&](std::string_view name, std::int32_t value) {
    if (value < kUnlimited)
      add(errors,
          spec.name,
          "failover." + std::string(name) + " is " + std::to_string(value) +
              ", 0 or more is needed, or -1 for no limit; correct it");
  };
  limit("worker_failures_max", failover.worker_failures_max);
  limit("worker_node_failures_max", failover.worker_node_failures_max);
  limit("role_restarts_max", failover.role_restarts_max);
  limit("job_restarts_max", failover.job_restarts_max);
  limit("node_losses_max", failover.node_losses_max);
  limit("preemptions_max", failover.preemptions_max);
  limit("nodes_relaunched_max", failover.nodes_relaunched_max);
  if (!(failover.jitter >= 0 && failover.jitter <= 1))
    add(errors, spec.name, "failover.jitter is outside 0 to 1; correct it");
  const auto time = [&](std::string_view name, Duration value) {
    if (value <= Duration::zero())
      add(errors,
          spec.name,
          "failover." + std::string(name) + " is 0 or less, a time above 0 is needed; correct it");
  };
  time("reset_window", failover.reset_window);
  time("relaunch_timeout", failover.relaunch_timeout);
  time("relaunch_group_timeout", failover.relaunch_group_timeout);
  time("sub_master_timeout", failover.sub_master_timeout);
  time("hang_after", failover.hang_after);
  if (!(failover.straggler_factor == 0 || failover.straggler_factor > 1))
    add(errors,
        spec.name,
        "failover.straggler_factor is neither 0 (not looked at) nor above 1; correct it");
}

}  // namespace

const NodeProgram* ProcessSpec::program_of(std::int32_t node, std::int32_t rank) const {
  const NodeProgram* of_all = nullptr;
  for (const NodeProgram& program : on_nodes) {
    if (!std::ranges::binary_search(program.nodes, node)) continue;
    if (std::ranges::binary_search(program.ranks, rank)) return &program;
    if (program.ranks.empty() && of_all == nullptr) of_all = &program;
  }
  return of_all;
}

RoleIndex elastic_role(const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.roles.size(); ++i)
    if (spec.roles[i].is_elastic()) return RoleIndex{static_cast<std::uint16_t>(i)};
  return RoleIndex{0};
}

RoleIndex sub_master_of(const JobSpec& spec, RoleIndex role) {
  for (std::size_t i = 0; i < spec.roles.size(); ++i)
    if (spec.roles[i].master_of == role) return RoleIndex{static_cast<std::uint16_t>(i)};
  return RoleIndex::none();
}

std::int32_t rigid_replicas(const JobSpec& spec) {
  if (spec.rigid_replicas > 0) return spec.rigid_replicas;
  return spec.roles[elastic_role(spec).index()].min_replicas;
}

bool is_dns_label(std::string_view name) {
  const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 63 || !alnum(name.front()) || !alnum(name.back())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return alnum(c) || c == '-'; });
}

std::string_view namespace_of(std::string_view full_name) {
  const std::size_t dot = full_name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : full_name.substr(0, dot);
}

Errors check_spec(const JobSpec& spec) {
  Errors errors;
  const std::size_t dot = spec.name.find('.');
  if (dot == std::string::npos || !is_dns_label(std::string_view(spec.name).substr(0, dot)) ||
      !is_dns_label(std::string_view(spec.name).substr(dot + 1)))
    add(errors,
        "job '" + spec.name + "'",
        "the name is not of the form namespace.name with DNS labels (a-z, 0-9, '-'); rename it");
  if (spec.roles.empty()) add(errors, spec.name, "has no role, at least one is needed; add a role");
  if (spec.backoff_limit < 0)
    add(errors, spec.name, "backoff_limit is negative, 0 or more is needed; correct it");
  if (spec.parallel_workers < 1)
    add(errors, spec.name, "parallel_workers is below 1, 1 or more is needed; correct it");
  if (spec.parallel_workers >= kPortsPerNode)
    add(errors,
        spec.name,
        "parallel_workers is " + std::to_string(spec.parallel_workers) + ", a node has ports for " +
            std::to_string(kPortsPerNode - 1) + " beside the master's (" +
            std::to_string(kPortFirst) + " to " + std::to_string(kPortEnd - 1) +
            "); run fewer in each worker");
  if (spec.roles.size() > kRolesMax) {
    add(errors,
        spec.name,
        "has " + std::to_string(spec.roles.size()) + " roles, at most " +
            std::to_string(kRolesMax) + " can be managed; join some");
    return errors;
  }
  for (std::size_t i = 0; i < spec.roles.size(); ++i) check_role(spec, i, errors);
  check_sub_masters(spec, errors);
  check_failover(spec, errors);
  check_placement(spec, errors);
  check_programs(spec, errors);
  if (spec.rigid_replicas != 0 && !spec.roles.empty()) {
    const RoleSpec& role = spec.roles[elastic_role(spec).index()];
    if (spec.rigid_replicas < role.min_replicas || spec.rigid_replicas > role.max_replicas)
      add(errors,
          spec.name,
          "rigid_replicas is " + std::to_string(spec.rigid_replicas) + ", " +
              std::to_string(role.min_replicas) + " to " + std::to_string(role.max_replicas) +
              " is needed as for role " + role.name + "; correct one of them");
  }
  const bool some_required =
      std::any_of(spec.roles.begin(), spec.roles.end(), [](const RoleSpec& r) {
        return r.completion == Completion::Required;
      });
  if (!spec.roles.empty() && !some_required)
    add(errors,
        spec.name,
        "every role is a follower, so the job could never succeed; make one role required");
  return errors;
}

}  // namespace orrery
