// Reader of ElastiSim's application models.

#include "sim/import/elastisim_file.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kTaskDepthMax = 16;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Reads a name in any case; whether it was there and right.
template <NamedEnum E>
bool read_name(const JsonReader& reader, std::string_view key, E& to) {
  std::string written;
  if (!reader.text(key, written)) return false;
  if (const auto value = enum_from<E>(lower(written))) {
    to = *value;
    return true;
  }
  reader.fail(key,
              "is '" + excerpt(written) + "', needed one of " + enum_choices<E>() + "; choose one");
  return false;
}

/// A number, a formula, or where `lists` an array of numbers.
ElastisimAmount read_amount(const JsonReader& reader, std::string_view key, bool lists) {
  const JsonNode* node = reader.find(key);
  if (node == nullptr) return {};
  if (lists) {
    std::vector<double> values;
    if (reader.numbers(key, values, 0)) return values;
    return {};
  }
  if (node->is(JsonKind::Text)) return node->text;
  double value = 0;
  if (reader.number(key, value, 0, 1e300)) return value;
  return {};
}

bool is_missing(const ElastisimAmount& amount) {
  return std::holds_alternative<std::monostate>(amount);
}

void read_compute(const JsonReader& reader, ElastisimTask& task) {
  if (!reader.has("flops") && !reader.has("bytes"))
    reader.missing("flops", "\"flops\": 1e12, or bytes");
  if (reader.has("flops")) {
    if (!reader.has("computation_pattern"))
      reader.missing("computation_pattern", "\"computation_pattern\": \"uniform\"");
    read_name(reader, "computation_pattern", task.pattern);
    task.amount = read_amount(reader, "flops", task.pattern == ElastisimVector::Vector);
  }
  if (reader.has("bytes")) {
    if (!reader.has("communication_pattern"))
      reader.missing("communication_pattern", "\"communication_pattern\": \"all_to_all\"");
    read_name(reader, "communication_pattern", task.communication);
    task.bytes = read_amount(reader, "bytes", task.communication == ElastisimMatrix::Matrix);
  }
  reader.truth("coupled", task.coupled);
}

void read_shared_out(const JsonReader& reader, std::string_view key, ElastisimTask& task) {
  if (!reader.has("pattern")) reader.missing("pattern", "\"pattern\": \"all_ranks\"");
  read_name(reader, "pattern", task.pattern);
  if (!reader.has(key)) reader.missing(key, "\"" + std::string(key) + "\": 1e9");
  task.amount = read_amount(reader, key, task.pattern == ElastisimVector::Vector);
  reader.truth("async", task.async);
}

ElastisimTask read_task(const JsonNode& node,
                        const std::string& subject,
                        std::size_t depth,
                        FileErrors& errors) {
  ElastisimTask task;
  task.line = node.line;
  const JsonReader reader(node, subject, errors);
  if (!node.is(JsonKind::Object)) return task;
  reader.text("name", task.name);
  if (!reader.has("type")) reader.missing("type", "\"type\": \"cpu\"");
  if (!read_name(reader, "type", task.kind)) return task;
  task.iterations = read_amount(reader, "iterations", false);
  switch (task.kind) {
    case ElastisimTaskKind::Cpu:
    case ElastisimTaskKind::Gpu:
      read_compute(reader, task);
      break;
    case ElastisimTaskKind::PfsRead:
    case ElastisimTaskKind::PfsWrite:
    case ElastisimTaskKind::BurstBufferRead:
    case ElastisimTaskKind::BurstBufferWrite:
      read_shared_out(reader, "bytes", task);
      break;
    case ElastisimTaskKind::BusyWait:
    case ElastisimTaskKind::Idle:
      read_shared_out(reader, "delay", task);
      break;
    case ElastisimTaskKind::Sequence:
      if (depth >= kTaskDepthMax) {
        reader.fail("tasks",
                    "are nested deeper than " + std::to_string(kTaskDepthMax) +
                        " sequences; take them apart");
        break;
      }
      for (const JsonNode& part : reader.items("tasks"))
        task.tasks.push_back(
            read_task(part,
                      subject + ".tasks[" + std::to_string(task.tasks.size()) + "]",
                      depth + 1,
                      errors));
      if (task.tasks.empty()) reader.fail("tasks", "has no task, one is needed; add it");
      break;
  }
  return task;
}

ElastisimPhase read_phase(const JsonNode& node, const std::string& subject, FileErrors& errors) {
  ElastisimPhase phase;
  const JsonReader reader(node, subject, errors);
  if (!node.is(JsonKind::Object)) return phase;
  phase.iterations = read_amount(reader, "iterations", false);
  reader.text("evolving_request", phase.evolving_request);
  for (const JsonNode& task : reader.items("tasks"))
    phase.tasks.push_back(
        read_task(task, subject + ".tasks[" + std::to_string(phase.tasks.size()) + "]", 0, errors));
  if (phase.tasks.empty() && is_missing(phase.iterations) && !reader.has("tasks"))
    reader.missing("tasks", "\"tasks\": []");
  return phase;
}

}  // namespace

Result<ElastisimApplication> parse_elastisim_application(std::string_view text,
                                                         const std::string& file) {
  Result<JsonNode> root = parse_json(text, file);
  if (!root) return root.errors();
  FileErrors errors(file);
  ElastisimApplication application;
  application.file = file;
  const JsonReader top(*root, "application model", errors);
  const auto one_time = [&](std::string_view key, std::optional<ElastisimPhase>& to) {
    if (const JsonNode* node = top.find(key)) to = read_phase(*node, std::string(key), errors);
  };
  one_time("on_init", application.on_init);
  one_time("on_reconfiguration", application.on_reconfiguration);
  one_time("on_expansion", application.on_expansion);
  for (const JsonNode& node : top.items("phases"))
    application.phases.push_back(
        read_phase(node, "phases[" + std::to_string(application.phases.size()) + "]", errors));
  if (application.phases.empty() && root->is(JsonKind::Object))
    top.fail("phases", "has no phase, at least one is needed; add it");
  if (errors.any()) return errors.take();
  return application;
}

}  // namespace orrery::sim
