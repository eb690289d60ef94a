#include <algorithm>
#include <set>

#include "core/job/spec.hpp"
#include "core/queues/queue_text.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::string_view kAmountNeed =
    "a number of devices from 0 or a part of the cluster up to 100%";
constexpr std::string_view kAmountRemedy = "write for example 16 or 25%";

std::optional<QueueAmount> amount_in(const YamlNode& node) {
  return node.is_scalar() ? queue_amount(node.scalar) : std::nullopt;
}

void read_amount(const MapReader& reader, std::string_view key, std::optional<QueueAmount>& to) {
  const YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  to = amount_in(*node);
  if (!to) reader.fail(key, found_instead(*node, kAmountNeed, kAmountRemedy));
}

// `true` as far as the limit goes, `false` nothing, else at most so much.
void read_borrow(const MapReader& reader, std::optional<QueueAmount>& to) {
  const YamlNode* node = reader.find("borrow");
  if (node == nullptr || (node->is_scalar() && node->scalar == "true")) return;
  if (node->is_scalar() && node->scalar == "false")
    to = QueueAmount{};
  else
    read_amount(reader, "borrow", to);
}

void read_users(const MapReader& reader, std::vector<QueueUser>& users) {
  const YamlNode* node = reader.find("users");
  if (node == nullptr) return;
  if (!node->is_map())
    return reader.fail("users",
                       found_instead(*node, "a map", "write for example users: {alice: 16}"));
  for (const YamlEntry& entry : node->entries) {
    const auto limit = amount_in(entry.value);
    if (limit)
      users.push_back({entry.key, *limit});
    else
      reader.reading().fail(entry.value.origin,
                            reader.subject_of("users") + "." + entry.key,
                            found_instead(entry.value, kAmountNeed, kAmountRemedy));
  }
}

QueueSpec read_queue(const MapReader& reader) {
  QueueSpec queue;
  if (reader.has("name"))
    reader.read_text("name", queue.name);
  else
    reader.missing("name", "{name: research}");
  reader.read_text("parent", queue.parent);
  reader.read_integer("weight", queue.weight, 0, 1'000'000);
  reader.read_integer("priority", queue.priority, -1'000'000, 1'000'000);
  std::optional<QueueAmount> guarantee;
  read_amount(reader, "guarantee", guarantee);
  queue.guarantee = guarantee.value_or(QueueAmount{});
  read_amount(reader, "limit", queue.limit);
  read_borrow(reader, queue.borrow);
  reader.read_bool("reclaim", queue.reclaim);
  read_amount(reader, "user_limit", queue.user_limit);
  read_users(reader, queue.users);
  return queue;
}

void read_resources(const MapReader& reader, QueuesSpec& spec) {
  std::vector<std::string> names;
  reader.read_texts("resources", names);
  for (const std::string& name : names) {
    if (name == "cpu")
      spec.cpu = true;
    else if (name == "memory")
      spec.memory = true;
    else if (name != "devices")
      reader.fail("resources",
                  "has '" + name +
                      "', some of devices, cpu, memory are needed; correct it or leave it out");
  }
}

// The places of faults: the queue's key, else its entry.
void report(const MapReader& reader,
            std::span<const YamlNode> items,
            const QueuesSpec& spec,
            std::optional<std::int64_t> devices) {
  for (const QueueFault& fault : check_queues(spec, devices)) {
    if (fault.queue == SIZE_MAX) {
      reader.fail(fault.key, fault.message);
      continue;
    }
    const YamlNode& item = items[fault.queue];
    reader.reading().fail(item.origin_of(fault.key),
                          "queue " + spec.queues[fault.queue].name + ": " + fault.key,
                          fault.message);
  }
}

}  // namespace

void read_queues(const MapReader& top,
                 const YamlNode& node,
                 std::optional<std::int64_t> devices,
                 PolicyChoice& policy) {
  if (node.is_null()) return;
  const std::string place = top.reading().place(node.origin);
  const std::string key(kQueuesParameter);
  if (node.is_scalar()) {
    const Result<QueuesSpec> read = parsed_queues(node.scalar);
    if (read) {
      policy.parameters.push_back({key, node.scalar, place});
      return;
    }
    for (const Error& error : read.errors())
      top.reading().fail(node.origin, error.subject, error.message);
    return;
  }
  const std::size_t before = top.reading().count();
  const MapReader reader(top.reading(), node, section("policy.queues"), "policy.queues");
  QueuesSpec spec;
  reader.read_duration("period", spec.period);
  reader.read_duration("half_life", spec.half_life);
  reader.read_duration("patience", spec.patience);
  read_resources(reader, spec);
  reader.read_text("default", spec.otherwise);
  const std::span<const YamlNode> items = reader.items("tree");
  for (const YamlNode& item : items) {
    const std::string subject = "policy.queues.tree[" + std::to_string(spec.queues.size()) + "]";
    spec.queues.push_back(
        read_queue(MapReader(top.reading(), item, section("policy.queues.tree"), subject)));
  }
  // What is left out because it was wrong would be missed once more.
  if (top.reading().count() == before) report(reader, items, spec, devices);
  if (top.reading().count() > before) return;
  policy.parameters.push_back({key, queues_text(spec), place});
}

void check_queue_users(const MapReader& top, const Scenario& scenario) {
  const YamlNode* policy = top.find("policy");
  const YamlNode* queues = policy != nullptr ? policy->find(kQueuesParameter) : nullptr;
  const YamlNode* tree = queues != nullptr ? queues->find("tree") : nullptr;
  if (tree == nullptr || top.has("workload")) return;
  std::set<std::string_view> known;
  for (const ScenarioJob& job : scenario.jobs) known.insert(namespace_of(job.spec.name));
  for (const YamlNode& item : tree->items) {
    const YamlNode* users = item.find("users");
    if (users == nullptr) continue;
    for (const YamlEntry& entry : users->entries)
      if (!known.contains(entry.key) && is_dns_label(entry.key))
        top.reading().fail(entry.key_origin,
                           "policy.queues: users." + entry.key,
                           "is a user of whom the scenario has no job, the namespace of one is "
                           "needed; correct the name, or name a job " +
                               entry.key + ".NAME");
  }
}

}  // namespace orrery::scenarios
