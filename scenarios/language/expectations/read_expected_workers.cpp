// Expectations about single workers of a job, and about the work that it lost.
#include <algorithm>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// Whose workers are named.
struct Named {
  const ScenarioJob* job = nullptr;  ///< Null: it is not written out.
  std::vector<std::int64_t> most;    ///< By role: replicas that it may ever have.
};

/// The role that `rank` is in, and its index inside it. Ranks count through the roles, so all
/// before it must have a fixed number of replicas.
std::optional<WorkerName> by_rank(const Named& named, std::int64_t rank) {
  if (named.job == nullptr) return WorkerName{RoleIndex{0}, static_cast<std::int32_t>(rank), ""};
  for (std::size_t r = 0; r < named.most.size(); ++r) {
    if (rank < named.most[r])
      return WorkerName{
          RoleIndex{static_cast<std::uint16_t>(r)}, static_cast<std::int32_t>(rank), ""};
    if (named.most[r] > named.job->spec.roles[r].min_replicas) return std::nullopt;
    rank -= named.most[r];
  }
  return std::nullopt;
}

std::optional<WorkerName> by_role(const Named& named, std::string_view role, std::int64_t local) {
  const auto local_rank = static_cast<std::int32_t>(local);
  if (named.job == nullptr) return WorkerName{RoleIndex{0}, local_rank, ""};
  for (std::size_t r = 0; r < named.most.size(); ++r)
    if (named.job->spec.roles[r].name == role && local < named.most[r])
      return WorkerName{RoleIndex{static_cast<std::uint16_t>(r)}, local_rank, ""};
  return std::nullopt;
}

/// "3" or "learner/0"; anything else is reported.
std::optional<WorkerName> parse_worker(const MapReader& reader,
                                       std::string_view key,
                                       Origin origin,
                                       std::string_view text,
                                       const Named& named) {
  const std::size_t slash = text.find('/');
  const auto index = parse_integer(slash == std::string_view::npos ? text : text.substr(slash + 1));
  std::optional<WorkerName> worker;
  if (index && *index >= 0 && *index <= INT32_MAX)
    worker = slash == std::string_view::npos ? by_rank(named, *index)
                                             : by_role(named, text.substr(0, slash), *index);
  if (worker)
    worker->text = text;
  else
    reader.reading().fail(origin,
                          reader.subject_of(key),
                          "names '" + std::string(text) +
                              "', a worker of the job is needed, as a rank or as ROLE/INDEX; write "
                              "for example learner/0");
  return worker;
}

void read_workers(const MapReader& reader,
                  std::string_view key,
                  const Named& named,
                  std::vector<WorkerName>& to) {
  for (const YamlNode& item : reader.items(key)) {
    const std::string text = item.is_scalar() ? item.scalar : "";
    if (auto worker = parse_worker(reader, key, item.origin, text, named)) to.push_back(*worker);
  }
}

void read_worker_restarts(const MapReader& reader, const Named& named, Expectation& to) {
  const YamlNode* node = reader.find("worker_restarts");
  if (node == nullptr) return;
  if (!node->is_map())
    return reader.fail(
        "worker_restarts",
        found_instead(*node, "numbers by worker", "write for example {learner/0: 1}"));
  for (const YamlEntry& entry : node->entries) {
    const auto worker = parse_worker(reader, "worker_restarts", entry.key_origin, entry.key, named);
    const std::int64_t count =
        entry.value.is_scalar() ? parse_integer(entry.value.scalar).value_or(-1) : -1;
    if (count < 0 || count > INT32_MAX)
      reader.reading().fail(entry.value.origin,
                            reader.subject_of("worker_restarts") + "." + entry.key,
                            found_instead(entry.value, "a whole number from 0", "correct it"));
    else if (worker)
      to.worker_restarts.push_back({*worker, static_cast<std::int32_t>(count)});
  }
}

/// `key` as the bits of units of a node, numbered from 0.
std::optional<std::uint64_t> read_bits(const MapReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  std::uint64_t bits = 0;
  for (const NumberRange& range : read_ranges(reader, key)) {
    if (range.last > 63) {
      reader.fail(key, "is " + std::to_string(range.last) + ", a node has 0 to 63; correct it");
      return std::nullopt;
    }
    for (std::int64_t unit = range.first; unit <= range.last; ++unit)
      bits |= std::uint64_t{1} << unit;
  }
  return bits;
}

/// A node, or a map that names devices as well.
void read_sits(const MapReader& reader, const Named& named, Expectation& to) {
  const YamlNode* node = reader.find("sits");
  if (node == nullptr) return;
  if (!node->is_map())
    return reader.fail("sits",
                       found_instead(*node,
                                     "a map from workers to nodes",
                                     "write for example {actor/0: {node: 0, devices: 0-1}}"));
  for (const YamlEntry& entry : node->entries) {
    const auto worker = parse_worker(reader, "sits", entry.key_origin, entry.key, named);
    const std::string subject = reader.subject_of("sits") + "." + entry.key;
    ExpectedSeat seat;
    std::int64_t number = -1;
    if (entry.value.is_map()) {
      const MapReader at(reader.reading(), entry.value, section("expect.sits"), subject);
      at.read_integer("node", number, 0, INT32_MAX);
      if (!at.has("node")) at.missing("node", "{node: 0, devices: 0-1}");
      seat.devices = read_bits(at, "devices");
      seat.hardware = read_bits(at, "hardware");
    } else {
      number = entry.value.is_scalar() ? parse_integer(entry.value.scalar).value_or(-1) : -1;
      if (number < 0 || number > INT32_MAX)
        reader.reading().fail(
            entry.value.origin,
            subject,
            found_instead(entry.value, "a node or a map with it", "write for example 0"));
    }
    if (!worker || number < 0) continue;
    seat.worker = *worker;
    seat.node = NodeId{static_cast<std::uint32_t>(number)};
    to.sits.push_back(std::move(seat));
  }
}

/// Units of work, or a time where the job's work is one.
void read_lost_work(const MapReader& reader, Expectation& to) {
  const YamlNode* node = reader.find("lost_work_less_than");
  if (node == nullptr) return;
  const auto units = node->is_scalar() ? parse_number(node->scalar) : std::nullopt;
  const auto time = node->is_scalar() ? parse_duration(node->scalar) : std::nullopt;
  if (units && *units >= 0)
    to.lost_work_less_than = *units;
  else if (time)
    to.lost_work_less_than = time->in_seconds();
  else
    reader.fail("lost_work_less_than",
                found_instead(*node, "units of work or a time", "write for example 500 or 30s"));
}

}  // namespace

void read_expected_workers(const MapReader& reader,
                           const ScenarioJob* job,
                           const Scenario& scenario,
                           Expectation& to) {
  const Named named{
      job, job == nullptr ? std::vector<std::int64_t>() : most_replicas(*job, scenario.requests)};
  read_workers(reader, "restarted", named, to.restarted);
  read_workers(reader, "not_restarted", named, to.not_restarted);
  read_worker_restarts(reader, named, to);
  read_sits(reader, named, to);
  read_lost_work(reader, to);
}

}  // namespace orrery::scenarios
