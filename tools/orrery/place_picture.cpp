#include "tools/orrery/place_picture.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tools/orrery/place_runs.hpp"

namespace orrery::cli {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::Process;
using placement::ResourceKind;

constexpr std::size_t kRowsMax = 200;
constexpr std::size_t kColumnsMin = 40;

/// A letter for each component: one of its name where that is free.
std::vector<char> letters_of(const std::vector<ComponentPlan>& components) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::string taken;
  const auto is_free = [&](char c) {
    return kLetters.find(c) != kLetters.npos && taken.find(c) == std::string::npos;
  };
  for (const ComponentPlan& component : components) {
    std::string wanted = component.name;
    for (const char c : component.name)
      if (c >= 'a' && c <= 'z') wanted += static_cast<char>(c - 'a' + 'A');
    wanted += kLetters;
    const auto found = std::find_if(wanted.begin(), wanted.end(), is_free);
    taken += found == wanted.end() ? '*' : *found;
  }
  return {taken.begin(), taken.end()};
}

/// The components on one node, by place.
struct NodeSeats {
  std::vector<std::set<std::size_t>> accelerators;  ///< Components by device.
  std::map<std::string, std::vector<std::set<std::size_t>>> custom;
  std::map<std::size_t, std::int32_t> node;  ///< Processes without a device, by component.
  std::string model;

  friend bool operator==(const NodeSeats&, const NodeSeats&) = default;
};

/// Equal nodes that follow one another.
struct NodeRun {
  std::int32_t first = 0;
  std::int32_t last = 0;
  NodeSeats seats;
};

/// Processes sorted by node.
struct Seat {
  std::int32_t node;
  std::size_t component;
  const Process* process;
};

std::vector<Seat> seats_by_node(const std::vector<ComponentPlan>& components) {
  std::vector<Seat> seats;
  for (std::size_t c = 0; c < components.size(); ++c)
    for (const Process& process : components[c].processes)
      seats.push_back({process.node_rank, c, &process});
  std::stable_sort(
      seats.begin(), seats.end(), [](const Seat& a, const Seat& b) { return a.node < b.node; });
  return seats;
}

class Picture {
 public:
  Picture(const std::vector<ComponentPlan>& components,
          const Inventory& inventory,
          const PictureStyle& style)
      : components_(components),
        inventory_(inventory),
        style_(style),
        letters_(letters_of(components)) {
    fill();
  }

  std::string text() const {
    if (rows_.empty()) return {};
    std::string out;
    const std::size_t devices = widest_node();
    const std::size_t each = std::max<std::size_t>(devices_a_line(), 1);
    for (std::size_t from = 0; from == 0 || from < devices; from += each)
      out += (from > 0 ? "\n" : "") + block(from, std::min(devices, from + each));
    return out + "\n" + legend() + shared_text() + free_text();
  }

 private:
  void fill() {
    const std::vector<std::vector<std::pair<std::string, std::int32_t>>> custom = custom_counts();
    const std::vector<Seat> seats = seats_by_node(components_);
    std::size_t at = 0;
    for (std::size_t n = 0; n < inventory_.nodes.size(); ++n) {
      const auto node = static_cast<std::int32_t>(n);
      NodeSeats here;
      const placement::InventoryNode& declared = inventory_.nodes[n];
      here.model = declared.accelerator_model;
      here.accelerators.resize(static_cast<std::size_t>(declared.accelerators));
      for (const auto& [type, count] : custom[n])
        here.custom[type].resize(static_cast<std::size_t>(count));
      for (; at < seats.size() && seats[at].node == node; ++at) seat(here, seats[at]);
      note_shared(here, node);
      if (!rows_.empty() && rows_.back().seats == here)
        rows_.back().last = node;
      else
        rows_.push_back({node, node, std::move(here)});
    }
  }

  /// Pieces of custom hardware by node: type and number.
  std::vector<std::vector<std::pair<std::string, std::int32_t>>> custom_counts() const {
    std::vector<std::vector<std::pair<std::string, std::int32_t>>> counts(inventory_.nodes.size());
    for (const placement::InventoryGroup& group : inventory_.groups)
      for (const placement::HardwareEntry& entry : group.hardware) {
        auto& here = counts[static_cast<std::size_t>(entry.node_rank)];
        if (here.empty() || here.back().first != group.hardware_type)
          here.emplace_back(group.hardware_type, 0);
        ++here.back().second;
      }
    return counts;
  }

  void seat(NodeSeats& here, const Seat& seat) const {
    const Process& process = *seat.process;
    const ComponentPlan& component = components_[seat.component];
    if (process.kind == ResourceKind::Node) {
      ++here.node[seat.component];
      return;
    }
    const std::string& type = component.hardware_types[static_cast<std::size_t>(process.group)];
    auto& places =
        process.kind == ResourceKind::Accelerator ? here.accelerators : here.custom[type];
    for (const std::int32_t device : process.devices) {
      const auto index = static_cast<std::size_t>(device);
      if (places.size() <= index) places.resize(index + 1);
      places[index].insert(seat.component);
    }
  }

  void note_shared(const NodeSeats& here, std::int32_t node) {
    for (const std::set<std::size_t>& sitting : here.accelerators) {
      ++accelerators_;
      if (sitting.empty()) ++free_;
    }
    const auto note = [&](const std::string& what, const auto& places) {
      std::map<std::set<std::size_t>, std::vector<std::int32_t>> by_sharers;
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i].size() > 1) by_sharers[places[i]].push_back(static_cast<std::int32_t>(i));
      for (const auto& [sharers, devices] : by_sharers) {
        auto& shared = shared_[{sharers, what}];
        const std::string text = range_text(devices);
        if (!shared.empty() && shared.back().devices == text && shared.back().last + 1 == node)
          shared.back().last = node;
        else
          shared.push_back({text, node, node});
      }
    };
    note("accelerators", here.accelerators);
    for (const auto& [type, places] : here.custom) note(type, places);
  }

  std::size_t widest_node() const {
    std::size_t widest = 0;
    for (const NodeRun& row : rows_) widest = std::max(widest, row.seats.accelerators.size());
    return widest;
  }

  std::size_t cell_width() const {
    std::size_t width = std::to_string(std::max<std::size_t>(widest_node(), 1) - 1).size();
    for (const NodeRun& row : rows_)
      for (const auto& sitting : row.seats.accelerators) width = std::max(width, sitting.size());
    return width;
  }

  std::size_t name_width() const {
    std::size_t width = 5;
    for (const NodeRun& row : rows_)
      width = std::max(width, range_text(row.first, row.last).size());
    return width;
  }

  std::size_t model_width() const {
    std::size_t width = 0;
    for (const NodeRun& row : rows_) width = std::max(width, row.seats.model.size());
    return width;
  }

  std::size_t devices_a_line() const {
    const std::size_t taken = line_start("", "").size();
    const std::size_t width = std::max(style_.width_max, kColumnsMin);
    if (style_.width_max == SIZE_MAX) return 64;
    return width > taken ? (width - taken) / (cell_width() + 1) : 1;
  }

  std::string block(std::size_t from, std::size_t until) const {
    std::string out = line_start("nodes", "");
    for (std::size_t d = from; d < until; ++d) out += " " + padded(std::to_string(d), cell_width());
    out = trimmed(out) + "\n";
    const std::size_t shown = std::min(rows_.size(), kRowsMax);
    for (std::size_t i = 0; i < shown; ++i) {
      const NodeRun& row = rows_[i];
      std::string line = line_start(range_text(row.first, row.last), row.seats.model);
      for (std::size_t d = from; d < until; ++d)
        line += " " + (d < row.seats.accelerators.size() ? cell(row.seats.accelerators[d])
                                                         : std::string(cell_width(), ' '));
      if (from == 0) line += beside(row.seats);
      out += trimmed(line) + "\n";
    }
    if (shown < rows_.size())
      out += "... and " + std::to_string(rows_.size() - shown) + " more lines\n";
    return out;
  }

  std::string line_start(const std::string& name, const std::string& model) const {
    return std::string(name_width() - name.size(), ' ') + name + " " +
           (model_width() > 0 ? " " + padded(model, model_width()) + " " : "");
  }

  std::string cell(const std::set<std::size_t>& sitting) const {
    if (sitting.empty()) return padded(".", cell_width());
    return letters(sitting) + std::string(cell_width() - sitting.size(), ' ');
  }

  std::string letters(const std::set<std::size_t>& sitting) const {
    std::string out;
    for (const std::size_t component : sitting) out += letter(component);
    return out;
  }

  std::string letter(std::size_t component) const {
    const std::string text(1, letters_[component]);
    if (!style_.colour) return text;
    const auto colour = static_cast<int>(component % 6) + 31;
    return "\x1b[1;" + std::to_string(colour) + "m" + text + "\x1b[0m";
  }

  std::string beside(const NodeSeats& seats) const {
    std::string out;
    for (const auto& [type, places] : seats.custom) {
      out += "  " + type;
      for (const auto& sitting : places) out += " " + (sitting.empty() ? "." : letters(sitting));
    }
    for (const auto& [component, processes] : seats.node)
      out += "  node " + letter(component) + " x" + std::to_string(processes);
    return out;
  }

  std::string legend() const {
    std::string out;
    for (std::size_t c = 0; c < components_.size(); ++c)
      out += (out.empty() ? "" : "  ") + letter(c) + " " + components_[c].name;
    return out + "  . free\n";
  }

  std::string names(const std::set<std::size_t>& sharers) const {
    std::string out;
    std::size_t left = sharers.size();
    for (const std::size_t component : sharers) {
      --left;
      out += components_[component].name + (left == 0 ? "" : left == 1 ? " and " : ", ");
    }
    return out;
  }

  std::string shared_text() const {
    std::string out;
    for (const auto& [what, places] : shared_) {
      out += names(what.first) + (style_.take_turns ? " take turns on " : " share ") + what.second +
             " ";
      for (std::size_t i = 0; i < std::min<std::size_t>(places.size(), 4); ++i)
        out += (i == 0 ? "" : ", ") + places[i].devices +
               (places[i].first == places[i].last ? " of node " : " of nodes ") +
               range_text(places[i].first, places[i].last);
      if (places.size() > 4) out += " and more";
      out += "\n";
    }
    return out;
  }

  std::string free_text() const {
    if (accelerators_ == 0) return {};
    return std::to_string(free_) + " of " + std::to_string(accelerators_) +
           " accelerators are free\n";
  }

  static std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  /// The same devices on consecutive nodes.
  struct SharedPlaces {
    std::string devices;
    std::int32_t first;
    std::int32_t last;
  };

  const std::vector<ComponentPlan>& components_;
  const Inventory& inventory_;
  const PictureStyle& style_;
  std::vector<char> letters_;
  std::vector<NodeRun> rows_;
  std::map<std::pair<std::set<std::size_t>, std::string>, std::vector<SharedPlaces>> shared_;
  std::int64_t accelerators_ = 0;
  std::int64_t free_ = 0;
};

}  // namespace

std::string placement_picture(const placement::Plan& plan,
                              const Inventory& inventory,
                              const PictureStyle& style) {
  return Picture(plan.components, inventory, style).text();
}

}  // namespace orrery::cli
