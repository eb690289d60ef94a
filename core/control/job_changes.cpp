#include "core/control/job_changes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/error_text.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

// What of a job, of its failover and of its roles the controller alone acts by: workers that run do
// not know it. docs/job_files.md lists them.
constexpr std::array<std::string_view, 14> kJobInPlace{"group",
                                                       "priority",
                                                       "rescale",
                                                       "backoff_limit",
                                                       "clean_pods",
                                                       "estimate",
                                                       "backoff_base",
                                                       "backoff_max",
                                                       "start_deadline",
                                                       "drain_grace",
                                                       "unknown_deadline",
                                                       "wait_deadline",
                                                       "run_deadline",
                                                       "labels"};
constexpr std::array<std::string_view, 9> kFailoverInPlace{"worker_failures_max",
                                                           "worker_node_failures_max",
                                                           "role_restarts_max",
                                                           "job_restarts_max",
                                                           "node_losses_max",
                                                           "preemptions_max",
                                                           "nodes_relaunched_max",
                                                           "reset_window",
                                                           "jitter"};
constexpr std::array<std::string_view, 1> kRoleInPlace{"replicas"};

// What users call a field otherwise than its record does.
std::string_view called(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kNames[]{
      {"min_replicas", "replicas"},
      {"max_replicas", "replicas"},
      {"bundle", "devices, cpu, memory or device_model"},
      {"environment", "env"},
      {"estimate_source", "estimate"},
      {"master_of", "sub_master"},
      {"family", "manifest"},
      {"process", "group_name, isolate_devices or on_nodes"},
      {"worker_family", "family"}};
  for (const auto& [record, user] : kNames)
    if (record == field) return user;
  return field;
}

// The fields of one record as bytes: the one field list serves here as well.
class FieldBytes {
 public:
  template <class Record>
  explicit FieldBytes(const Record& record) {
    Record::fields(record, *this);
  }

  template <class T>
  void field(std::string_view name, const T& value) {
    ByteWriter bytes;
    Encoder(bytes).put(value);
    fields_.push_back({name, std::string(bytes.text())});
  }

  template <class T>
  void field_since(std::uint16_t, std::string_view name, const T& value) {
    field(name, value);
  }

  /// Names of what differs, as users call them, each once; but for `apart`.
  std::vector<std::string_view> differ(const FieldBytes& other,
                                       std::span<const std::string_view> apart) const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view name = called(fields_[i].name);
      if (fields_[i].bytes == other.fields_[i].bytes) continue;
      if (std::find(apart.begin(), apart.end(), name) != apart.end()) continue;
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
    return out;
  }

 private:
  struct Field {
    std::string_view name;
    std::string bytes;
  };

  std::vector<Field> fields_;
};

template <class Record>
void compare(const Record& has,
             const Record& wanted,
             const std::string& prefix,
             std::span<const std::string_view> in_place,
             std::span<const std::string_view> apart,
             std::vector<SpecChange>& out) {
  for (const std::string_view name : FieldBytes(has).differ(FieldBytes(wanted), apart))
    out.push_back({prefix + std::string(name),
                   std::find(in_place.begin(), in_place.end(), name) != in_place.end()});
}

bool same_roles(const JobSpec& has, const JobSpec& wanted) {
  return std::equal(
      has.roles.begin(),
      has.roles.end(),
      wanted.roles.begin(),
      wanted.roles.end(),
      [](const RoleSpec& one, const RoleSpec& other) { return one.name == other.name; });
}

}  // namespace

JobSpec effective_spec(const JobState& job) {
  JobSpec spec = *job.spec;
  for (std::size_t r = 0; r < spec.roles.size() && r < job.targets->size(); ++r) {
    if ((*job.targets)[r] <= 0) continue;
    spec.roles[r].max_replicas = (*job.targets)[r];
    if (!is_sized_by_policy(job, RoleIndex{static_cast<std::uint16_t>(r)}))
      spec.roles[r].min_replicas = (*job.targets)[r];
  }
  return spec;
}

JobSpec effective_spec(const JobState& job, const JobSpec& wanted) {
  JobSpec spec = effective_spec(job);
  for (std::size_t r = 0; r < spec.roles.size() && r < wanted.roles.size(); ++r) {
    const RoleSpec& has = job.spec->roles[r];
    if (!has.is_elastic() || !wanted.roles[r].is_elastic()) continue;
    spec.roles[r].min_replicas = has.min_replicas;
    spec.roles[r].max_replicas = has.max_replicas;
  }
  return spec;
}

std::vector<SpecChange> changes_between(const JobSpec& has, const JobSpec& wanted) {
  constexpr std::array<std::string_view, 2> kApart{"roles", "failover"};
  std::vector<SpecChange> out;
  if (has == wanted) return out;
  compare(has, wanted, "", kJobInPlace, kApart, out);
  compare(*has.failover, *wanted.failover, "failover.", kFailoverInPlace, {}, out);
  if (!same_roles(has, wanted)) {
    out.push_back({"roles", false});
    return out;
  }
  for (std::size_t r = 0; r < has.roles.size(); ++r)
    compare(
        has.roles[r], wanted.roles[r], "roles." + has.roles[r].name + ".", kRoleInPlace, {}, out);
  // The role that a policy sizes is chosen once.
  if (elastic_role(has) != elastic_role(wanted))
    for (SpecChange& change : out)
      if (change.field.ends_with(".replicas")) change.in_place = false;
  return out;
}

std::string why_not_changed(const State& state, const JobState& job, const JobSpec& wanted) {
  if (const Errors errors = check_spec(wanted); !errors.empty()) return text_of(errors);
  const JobSpec has = state.settings.rules >= 4 ? effective_spec(job, wanted) : effective_spec(job);
  std::string fields;
  for (const SpecChange& change : changes_between(has, wanted))
    if (!change.in_place) fields += (fields.empty() ? "" : ", ") + change.field;
  if (!fields.empty())
    return job.spec->name + ": " + fields +
           " would change, which a live job cannot take over; delete the job and submit it anew";
  const RoleSpec& role = wanted.roles[job.row.elastic.index()];
  if (role.is_elastic() && job.row.preemptible && job.row.holds &&
      role.min_replicas > job.row.replicas)
    return job.spec->name + ": role " + role.name + " has " + std::to_string(job.row.replicas) +
           " replicas and would need " + std::to_string(role.min_replicas) +
           " at least; wait until its policy has given it so many, or delete the job and submit it "
           "anew";
  return {};
}

}  // namespace orrery
