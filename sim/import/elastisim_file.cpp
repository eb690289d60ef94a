#include "sim/import/elastisim_file.hpp"

#include "core/job/spec.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

constexpr double kSecondsMax = 100.0 * 365 * 24 * 3600;
constexpr std::int32_t kGpusMax = 64;

void read_type(const JsonReader& reader, ElastisimJob& job) {
  if (!reader.has("type")) return reader.missing("type", "\"type\": \"rigid\"");
  std::string written;
  if (!reader.text("type", written)) return;
  for (char& c : written)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto type = enum_from<ElastisimType>(written))
    job.type = *type;
  else
    reader.fail("type",
                "is '" + excerpt(written) + "', needed one of " + enum_choices<ElastisimType>() +
                    "; choose one");
}

void read_size(const JsonReader& reader,
               std::string_view key,
               bool needed,
               std::int64_t low,
               std::int64_t high,
               std::int32_t& to) {
  if (needed && !reader.has(key)) return reader.missing(key, "\"" + std::string(key) + "\": 2");
  std::int64_t value = 0;
  if (reader.integer(key, value, low, high)) to = static_cast<std::int32_t>(value);
}

void read_sizes(const JsonReader& reader, ElastisimJob& job) {
  if (job.type == ElastisimType::Rigid) {
    read_size(reader, "num_nodes", true, 1, kReplicasMax, job.nodes_min);
    read_size(reader, "num_gpus_per_node", false, 0, kGpusMax, job.gpus_min);
    job.nodes_max = job.nodes_min;
    job.gpus_max = job.gpus_min;
    return;
  }
  read_size(reader, "num_nodes_min", true, 1, kReplicasMax, job.nodes_min);
  read_size(reader, "num_nodes_max", true, 1, kReplicasMax, job.nodes_max);
  read_size(reader, "num_gpus_per_node_min", false, 0, kGpusMax, job.gpus_min);
  job.gpus_max = job.gpus_min;
  read_size(reader, "num_gpus_per_node_max", false, 0, kGpusMax, job.gpus_max);
  const auto check = [&](std::string_view key, std::int32_t least, std::int32_t most) {
    if (least > most)
      reader.fail(key,
                  "is " + std::to_string(least) + ", above its maximum of " + std::to_string(most) +
                      "; lower it or raise the maximum");
  };
  check("num_nodes_min", job.nodes_min, job.nodes_max);
  check("num_gpus_per_node_min", job.gpus_min, job.gpus_max);
}

/// Numbers first; texts are formulas over them.
void read_arguments(const JsonReader& job_reader, ElastisimJob& job, FileErrors& errors) {
  const JsonNode* node = job_reader.find("arguments");
  if (node == nullptr) return;
  const JsonReader reader(*node, job_reader.subject() + ": arguments", errors);
  for (std::size_t i = 0; i < node->keys.size(); ++i)
    if (node->items[i].is(JsonKind::Number)) job.arguments[node->keys[i]] = node->items[i].number;
  const FormulaValues numbers = job.arguments;
  for (std::size_t i = 0; i < node->keys.size(); ++i) {
    const JsonNode& value = node->items[i];
    if (value.is(JsonKind::Number)) continue;
    if (!value.is(JsonKind::Text)) {
      reader.fail(node->keys[i], instead_of(value, "a number or a formula", "correct it"));
      continue;
    }
    const Result<double> result = evaluate_formula(value.text, numbers);
    if (result)
      job.arguments[node->keys[i]] = *result;
    else
      reader.fail(node->keys[i],
                  result.errors().front().subject + " " + result.errors().front().message);
  }
}

ElastisimJob read_job(const JsonNode& node, std::size_t index, FileErrors& errors) {
  ElastisimJob job;
  job.line = node.line;
  const JsonReader reader(node, "job " + std::to_string(index), errors);
  if (!node.is(JsonKind::Object)) return job;
  read_type(reader, job);
  if (!reader.has("submit_time")) reader.missing("submit_time", "\"submit_time\": 0");
  reader.number("submit_time", job.submit_s, 0, kSecondsMax);
  read_sizes(reader, job);
  double walltime = 0;
  reader.number("walltime", walltime, 0, kSecondsMax);
  if (walltime > 0) job.walltime_s = walltime;
  if (!reader.has("application_model"))
    reader.missing("application_model", "\"application_model\": \"application_model.json\"");
  reader.text("application_model", job.application);
  read_arguments(reader, job, errors);
  return job;
}

}  // namespace

bool is_elastisim_configuration(std::string_view text) {
  const Result<JsonNode> root = parse_json(text, "");
  return root && root->is(JsonKind::Object) && root->find("jobs_file") != nullptr;
}

Result<ElastisimConfiguration> parse_elastisim_configuration(std::string_view text,
                                                             const std::string& file) {
  Result<JsonNode> root = parse_json(text, file);
  if (!root) return root.errors();
  FileErrors errors(file);
  ElastisimConfiguration configuration;
  const JsonReader top(*root, "configuration", errors);
  if (root->is(JsonKind::Object) && !top.has("jobs_file"))
    top.missing("jobs_file", "\"jobs_file\": \"jobs.json\"");
  top.text("jobs_file", configuration.jobs_file);
  top.text("platform_file", configuration.platform_file);
  if (errors.any()) return errors.take();
  return configuration;
}

Result<ElastisimJobs> parse_elastisim_jobs(std::string_view text, const std::string& file) {
  Result<JsonNode> root = parse_json(text, file);
  if (!root) return root.errors();
  FileErrors errors(file);
  ElastisimJobs jobs;
  jobs.file = file;
  const JsonReader top(*root, "jobs", errors);
  if (root->is(JsonKind::Object) && !top.has("jobs")) top.missing("jobs", "\"jobs\": []");
  for (const JsonNode& node : top.items("jobs"))
    jobs.jobs.push_back(read_job(node, jobs.jobs.size(), errors));
  if (errors.any()) return errors.take();
  return jobs;
}

}  // namespace orrery::sim
