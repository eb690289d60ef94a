// A strategy called by its name, as code of RLinf would call it.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {
namespace {

using placement::ErrorKind;

constexpr std::array<std::string_view, 7> kPackedKeys{"type",
                                                      "start_hardware_rank",
                                                      "end_hardware_rank",
                                                      "num_hardware_per_process",
                                                      "stride",
                                                      "node_group",
                                                      "node_group_label"};
constexpr std::array<std::string_view, 4> kFlexibleKeys{
    "type", "hardware_ranks_list", "node_group", "node_group_label"};
constexpr std::array<std::string_view, 4> kNodeKeys{
    "type", "node_ranks", "node_group", "node_group_label"};

/// Reads the arguments of one call.
class StrategyReader {
 public:
  StrategyReader(DocumentReading& reading, const YamlNode& node) : reading_(reading), node_(node) {}

  std::optional<StrategyCall> read() {
    const YamlNode* type = value_of(node_, "type");
    StrategyCall call;
    call.at = place_of(node_);
    const std::string name = type != nullptr ? type->scalar : "";
    if (name == "packed") {
      call.strategy = packed();
    } else if (name == "flexible") {
      check_keys(kFlexibleKeys);
      call.strategy = placement::FlexibleStrategy{lists("hardware_ranks_list")};
    } else if (name == "node") {
      check_keys(kNodeKeys);
      call.strategy = placement::NodeStrategy{needed_list("node_ranks")};
    } else {
      wrong(type == nullptr ? node_ : *type,
            type == nullptr ? "no type" : "type " + describe(*type),
            "type packed, flexible or node",
            "write for example type: packed");
    }
    for (const std::string_view key : {"node_group", "node_group_label"})
      if (const YamlNode* labels = value_of(node_, key))
        for (placement::PlacedText& label : read_labels(reading_, *labels, "strategy"))
          call.labels.push_back(std::move(label));
    if (!sound_) return std::nullopt;
    return call;
  }

 private:
  placement::PackedStrategy packed() {
    check_keys(kPackedKeys);
    placement::PackedStrategy strategy;
    strategy.start = needed_number("start_hardware_rank");
    strategy.end = needed_number("end_hardware_rank");
    if (const YamlNode* n = value_of(node_, "num_hardware_per_process"))
      strategy.per_process = number(*n, "num_hardware_per_process");
    if (const YamlNode* n = value_of(node_, "stride")) strategy.stride = number(*n, "stride");
    return strategy;
  }

  void check_keys(std::span<const std::string_view> known) {
    for (const YamlEntry& entry : node_.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      const std::string_view near = nearest(entry.key, known);
      wrong_at(place_of(entry.key_start),
               "argument '" + entry.key + "'",
               "an argument of this strategy",
               near.empty() ? "remove it" : "write " + std::string(near) + ", or remove it");
    }
  }

  std::int32_t number(const YamlNode& node, std::string_view key) {
    const auto value = parse_whole(node);
    if (value && *value >= INT32_MIN && *value <= INT32_MAX)
      return static_cast<std::int32_t>(*value);
    reading_.fail_parse(
        ErrorKind::RankFormat,
        place_of(node),
        {"strategy", std::string(key) + " " + describe(node), "a whole number", "correct it"});
    sound_ = false;
    return 0;
  }

  std::int32_t needed_number(std::string_view key) {
    if (const YamlNode* node = value_of(node_, key)) return number(*node, key);
    missing(key);
    return 0;
  }

  std::vector<std::int32_t> list(const YamlNode& node, std::string_view key) {
    std::vector<std::int32_t> out;
    if (node.is_scalar()) return {number(node, key)};
    if (!node.is_sequence())
      wrong(node, std::string(key) + " " + describe(node), "a list of ranks", "write [0, 1]");
    for (const YamlNode& item : node.items) out.push_back(number(item, key));
    return out;
  }

  std::vector<std::int32_t> needed_list(std::string_view key) {
    if (const YamlNode* node = value_of(node_, key)) return list(*node, key);
    missing(key);
    return {};
  }

  std::vector<std::vector<std::int32_t>> lists(std::string_view key) {
    std::vector<std::vector<std::int32_t>> out;
    const YamlNode* node = value_of(node_, key);
    if (node == nullptr) {
      missing(key);
      return out;
    }
    if (!node->is_sequence())
      wrong(*node,
            std::string(key) + " " + describe(*node),
            "a list with the ranks of each process",
            "write for example [[0, 1], [2, 3]]");
    for (const YamlNode& item : node->items) out.push_back(list(item, key));
    return out;
  }

  void missing(std::string_view key) {
    wrong(node_,
          "no " + std::string(key),
          "the argument " + std::string(key),
          "write " + std::string(key) + " below type");
  }

  void wrong(const YamlNode& at, std::string found, std::string needed, std::string remedy) {
    wrong_at(place_of(at), std::move(found), std::move(needed), std::move(remedy));
  }

  void wrong_at(placement::TextPosition at,
                std::string found,
                std::string needed,
                std::string remedy) {
    reading_.fail(at, {"strategy", std::move(found), std::move(needed), std::move(remedy)});
    sound_ = false;
  }

  DocumentReading& reading_;
  const YamlNode& node_;
  bool sound_ = true;
};

}  // namespace

std::optional<StrategyCall> read_strategy(DocumentReading& reading, const YamlNode& node) {
  return StrategyReader(reading, node).read();
}

}  // namespace orrery::scenarios
