#include "sim/traces/node_list.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {
namespace {

enum Column : std::size_t { Name, Cpu, Memory, Gpus, Model };

// The same five in another order, so that one reader serves both.
constexpr std::array<CsvColumn, 5> kOpenbColumns = {
    {{"sn"}, {"cpu_milli"}, {"memory_mib"}, {"gpu"}, {"model"}}};
constexpr std::array<CsvColumn, 5> kPaiColumns = {
    {{"machine"}, {"gpu_type"}, {"cap_cpu"}, {"cap_mem"}, {"cap_gpu"}}};

constexpr int kNodeGpusMax = 1024;
constexpr std::int64_t kNodeAmountMax = 1'000'000'000'000;

/// Where the five stand, and what one of a number is worth.
struct Dialect {
  std::string_view format;
  std::span<const CsvColumn> columns;
  bool header;
  std::array<std::size_t, 5> place;
  std::int64_t cpu_unit;
  std::int64_t memory_unit;
};

Result<NodeList> parse(std::string_view text, std::string_view file_name, const Dialect& dialect) {
  NodeList list;
  list.file = file_name;
  list.format = dialect.format;
  TraceErrors errors(file_name);
  FieldReader fields(errors);
  CsvRows rows(text, dialect.columns, dialect.header, errors);
  std::unordered_set<std::string_view> names;  // Looked up, never walked.
  const auto field = [&](Column column) { return rows.field(dialect.place[column]); };
  const auto name = [&](Column column) { return rows.name(dialect.place[column]); };
  while (rows.next()) {
    fields.start(rows.line());
    ListedNode node;
    node.name = field(Name);
    if (node.name.empty() || !names.insert(field(Name)).second)
      fields.refuse(name(Name), node.name, "a name that no node before has");
    const double high = static_cast<double>(kNodeAmountMax / 1024);
    node.cpu_milli = fields.thousandths(name(Cpu), field(Cpu), dialect.cpu_unit, 0, high);
    node.memory_mib = fields.thousandths(name(Memory), field(Memory), dialect.memory_unit, 0, high);
    node.gpus = static_cast<int>(fields.whole(name(Gpus), field(Gpus), 0, kNodeGpusMax));
    if (node.gpus > 0) node.model = field(Model);
    if (fields.ok()) list.nodes.push_back(std::move(node));
  }
  if (!errors.empty()) return errors.take();
  return list;
}

/// `text` in the double quotes of YAML, or bare where it is a plain word.
std::string yaml_text(std::string_view text) {
  const bool word = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  const bool letter = word && (text[0] < '0' || text[0] > '9');
  if (letter) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + "\"";
}

}  // namespace

NodeList::Share NodeList::total() const {
  Share all;
  for (const ListedNode& node : nodes) {
    ++all.nodes;
    all.gpus += node.gpus;
  }
  return all;
}

std::map<std::string, NodeList::Share> NodeList::by_model() const {
  std::map<std::string, Share> out;
  for (const ListedNode& node : nodes) {
    Share& share = out[node.model];
    ++share.nodes;
    share.gpus += node.gpus;
  }
  return out;
}

std::map<int, std::int64_t> NodeList::nodes_by_gpus() const {
  std::map<int, std::int64_t> out;
  for (const ListedNode& node : nodes) ++out[node.gpus];
  return out;
}

std::string NodeList::text() const {
  const Share all = total();
  std::string out = file + " (" + format + "): " + std::to_string(all.nodes) + " nodes, " +
                    std::to_string(all.gpus) + " GPUs\nby model\n";
  char buffer[96];
  for (const auto& [model, share] : by_model()) {
    std::snprintf(buffer,
                  sizeof buffer,
                  "  %-16.16s %8lld nodes %8lld GPUs\n",
                  model.empty() ? "(none)" : model.c_str(),
                  static_cast<long long>(share.nodes),
                  static_cast<long long>(share.gpus));
    out += buffer;
  }
  out += "by GPUs of a node\n";
  for (const auto& [gpus, count] : nodes_by_gpus()) {
    std::snprintf(
        buffer, sizeof buffer, "  %-16d %8lld nodes\n", gpus, static_cast<long long>(count));
    out += buffer;
  }
  return out;
}

void NodeList::write(JsonText& json) const {
  const Share all = total();
  json.begin_object().field("file", file).field("format", format);
  json.field("nodes", all.nodes).field("gpus", all.gpus);
  json.key("by_model").begin_array();
  for (const auto& [model, share] : by_model()) {
    json.begin_object().field("model", model).field("nodes", share.nodes);
    json.field("gpus", share.gpus).end_object();
  }
  json.end_array().key("by_gpus").begin_array();
  for (const auto& [gpus, count] : nodes_by_gpus())
    json.begin_object().field("gpus", gpus).field("nodes", count).end_object();
  json.end_array().end_object();
}

std::string cluster_yaml(const NodeList& list) {
  using Shape = std::tuple<int, std::string, std::int64_t, std::int64_t>;
  std::map<Shape, std::int64_t> groups;
  for (const ListedNode& node : list.nodes)
    ++groups[{-node.gpus, node.model, node.cpu_milli, node.memory_mib}];
  std::string out = "cluster:\n  groups:\n";
  std::size_t number = 0;
  for (const auto& [shape, nodes] : groups) {
    const auto& [minus_gpus, model, cpu_milli, memory_mib] = shape;
    out += "    - {name: group-" + std::to_string(number++) + ", nodes: " + std::to_string(nodes) +
           ", gpus_per_node: " + std::to_string(-minus_gpus);
    if (minus_gpus < 0) out += ", gpu: " + yaml_text(model);
    out += ", cpu: " + std::to_string(cpu_milli) + "m, memory: " + std::to_string(memory_mib) +
           "MiB}\n";
  }
  return out;
}

bool looks_like_openb_nodes(std::string_view text) {
  return line_without_quotes(text).starts_with("sn,cpu_milli,memory_mib,gpu");
}

Result<NodeList> parse_openb_nodes(std::string_view text, std::string_view file_name) {
  return parse(text,
               file_name,
               {.format = "openb-nodes",
                .columns = kOpenbColumns,
                .header = true,
                .place = {0, 1, 2, 3, 4},
                .cpu_unit = 1,
                .memory_unit = 1});
}

bool looks_like_pai_machines(std::string_view text) {
  const std::string line = line_without_quotes(text);
  if (std::count(line.begin(), line.end(), ',') != 4) return false;
  for (const std::string_view model : {",CPU,", ",MISC,", ",T4,", ",P100,", ",V100,", ",V100M32,"})
    if (line.find(model) != std::string::npos) return true;
  return false;
}

Result<NodeList> parse_pai_machines(std::string_view text, std::string_view file_name) {
  return parse(text,
               file_name,
               {.format = "pai-machines",
                .columns = kPaiColumns,
                .header = false,
                .place = {0, 2, 3, 4, 1},
                .cpu_unit = 1000,
                .memory_unit = 1024});
}

}  // namespace orrery::sim
