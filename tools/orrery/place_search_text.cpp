#include "tools/orrery/place_search_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/placement/plan.hpp"
#include "sim/search/explanation.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/place_picture.hpp"

namespace orrery::cli {
namespace {

using sim::PathTerm;
using sim::Prediction;
using sim::SearchedJob;
using sim::SearchResult;

constexpr double kAlmost = 1.05;  // Of the shortest turn: worth a look where it frees devices.
constexpr placement::Mode kModes[] = {
    placement::Mode::Collocated, placement::Mode::Disaggregated, placement::Mode::Hybrid};

/// Indices of the first `top`, and of the best of each mode.
std::vector<std::size_t> shown(const SearchResult& result, std::size_t top) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < std::min(top, result.found.size()); ++i) rows.push_back(i);
  for (const placement::Mode mode : kModes)
    if (const Prediction* best = result.best_of(mode))
      rows.push_back(static_cast<std::size_t>(best - result.found.data()));
  rows.push_back(static_cast<std::size_t>(&result.smallest_within(kAlmost) - result.found.data()));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::string seconds(double value) { return with_commas(value, value < 10 ? 3 : 1) + " s"; }

std::string percent(double share) { return with_commas(100 * share, 0) + " %"; }

std::string batches(std::int32_t count) {
  return count == 1 ? "one part after the other" : std::to_string(count) + " micro-batches";
}

std::string role_text(const SearchedJob& job, const Prediction& prediction, std::size_t role) {
  return placement_text(job, prediction.places[role], job.roles[role].width);
}

/// Through the resolver of placements: what it refuses is a bug of the search.
std::string picture(const SearchedJob& job, const Prediction& best, const ConsoleTraits& traits) {
  placement::Inventory inventory;
  for (const sim::SearchedNode& node : job.nodes)
    inventory.nodes.push_back({node.devices, node.model, DeviceVendor::Nvidia});
  std::vector<placement::PlacementRule> rules;
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    if (job.roles[r].is_placed())
      rules.push_back(
          {{job.roles[r].name, {}}, {}, placement::PlacedText{role_text(job, best, r), {}}});
  placement::PlacementErrors errors;
  placement::Plan plan;
  plan.components = resolve_components(inventory, rules, errors);
  invariant(errors.empty(), "a placement that was found is one");
  PictureStyle style{traits.colour, traits.out_is_terminal ? traits.columns : 100};
  style.take_turns = true;
  return placement_picture(plan, inventory, style);
}

std::string roles_lines(const SearchedJob& job, const Prediction& best) {
  Table table({{.title = "role", .left = true},
               {.title = "replicas"},
               {.title = "placement", .left = true}});
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    table.add_row({{job.roles[r].name},
                   {std::to_string(best.places[r].replicas)},
                   {job.roles[r].is_placed() ? "\"" + role_text(job, best, r) + "\"" : "-"}});
  return table.text(false);
}

std::string why(const SearchedJob& job, const SearchResult& result) {
  const Prediction& best = result.found.front();
  Table table({{.title = "of a turn", .left = true},
               {.title = "time"},
               {.title = "share"},
               {.title = "because", .left = true}});
  for (const PathTerm& term : path_terms(job, best.path))
    if (term.seconds > 0)
      table.add_row({{term.name},
                     {seconds(term.seconds)},
                     {percent(term.seconds / best.step_s)},
                     {term.meaning}});
  std::string text = table.text(false);
  if (const Prediction& small = result.smallest_within(kAlmost); small.devices < best.devices)
    text += "with " + std::to_string(small.devices) + " devices in place of " +
            std::to_string(best.devices) + ": " + seconds(small.step_s) + ", " +
            with_commas(small.step_s / best.step_s, 2) + " times as long (" +
            places_in_words(job, small) + ")\n";
  if (result.written)
    text += "as written, each role on devices of its own: " + seconds(result.written->step_s) +
            ", " + with_commas(result.written->step_s / best.step_s, 2) + " times as long\n";
  for (const placement::Mode mode : kModes) {
    const Prediction* other = result.best_of(mode);
    if (other == nullptr || other == &best) continue;
    const PathTerm more = largest_increase(job, best.path, other->path);
    text += "best " + std::string(to_string(mode)) + ": " + seconds(other->step_s) + ", " +
            with_commas(other->step_s / best.step_s, 2) + " times as long";
    if (more.seconds > 0) text += ", " + seconds(more.seconds) + " more for " + more.name;
    text += "\n";
  }
  return text;
}

std::string candidates_table(const SearchedJob& job,
                             const SearchResult& result,
                             std::size_t top,
                             const ConsoleTraits& traits) {
  Table table({{.title = "rank"},
               {.title = "turn s", .better = Better::Lower},
               {.title = "p90 s", .spare = 2},
               {.title = "mode", .left = true},
               {.title = "placement", .left = true},
               {.title = "micro-batches"},
               {.title = "idle %"},
               {.title = "mostly", .left = true, .spare = 1}});
  for (const std::size_t i : shown(result, top)) {
    const Prediction& one = result.found[i];
    table.add_row({{std::to_string(i + 1)},
                   {with_commas(one.step_s, 3), one.step_s},
                   {with_commas(one.step_p90_s, 3)},
                   {std::string(to_string(mode_of(one.candidate)))},
                   {places_in_words(job, one)},
                   {std::to_string(one.candidate.micro_batches)},
                   {with_commas(100 * one.idle, 0)},
                   {largest_term(job, one.path).name}});
  }
  return table.text(traits.colour, traits.table_width());
}

std::string head(const SearchedJob& job, const SearchResult& result) {
  std::string text = "job " + job.name + ": " + with_commas(static_cast<double>(result.tried), 0) +
                     " candidates tried on " + std::to_string(job.devices) + " devices, " +
                     std::to_string(result.turns) + " turns each (seed " +
                     std::to_string(job.scenario->seed) + ")\n";
  if (result.step > 1)
    text += "sizes in steps of " + std::to_string(result.step) +
            " devices, then finer around the best\n";
  return text;
}

void write_candidate(JsonText& json,
                     const SearchedJob& job,
                     const Prediction& one,
                     std::size_t rank) {
  json.begin_object().field("rank", rank).field("mode", to_string(mode_of(one.candidate)));
  json.field("step_s", one.step_s).field("step_p90_s", one.step_p90_s);
  json.field("micro_batches", one.candidate.micro_batches).field("idle", one.idle);
  json.field("devices", one.devices).field("mostly", largest_term(job, one.path).name);
  json.key("of_a_turn").begin_object();
  for (const PathTerm& term : path_terms(job, one.path)) json.field(term.name, term.seconds);
  json.end_object().key("roles").begin_object();
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    json.key(job.roles[r].name).begin_object().field("replicas", one.places[r].replicas);
    if (job.roles[r].is_placed()) json.field("placement", role_text(job, one, r));
    json.end_object();
  }
  json.end_object().key("take_turns").begin_array();
  for (const std::vector<std::string>& roles : sharing_roles(job, one)) {
    json.begin_array();
    for (const std::string& role : roles) json.value(role);
    json.end_array();
  }
  json.end_array().end_object();
}

}  // namespace

std::string search_page(const SearchedJob& job,
                        const SearchResult& result,
                        std::size_t top,
                        const ConsoleTraits& traits) {
  const Prediction& best = result.found.front();
  return head(job, result) + "\nbest: " + std::string(to_string(mode_of(best.candidate))) + ", " +
         seconds(best.step_s) + " a turn, " + batches(best.candidate.micro_batches) + ", " +
         percent(best.idle) + " of its devices' time idle\n\n" + roles_lines(job, best) + "\n" +
         picture(job, best, traits) + "\n" + why(job, result) + "\n" +
         candidates_table(job, result, top, traits);
}

std::string search_json(const SearchedJob& job, const SearchResult& result, std::size_t top) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("job", job.name).field("seed", job.scenario->seed);
  json.field("turns", result.turns).field("tried", result.tried).field("step", result.step);
  json.field("complete", !result.stopped);
  json.field("placements", result.found.size()).key("candidates").begin_array();
  for (const std::size_t i : shown(result, top)) write_candidate(json, job, result.found[i], i + 1);
  json.end_array().key("written_s");
  if (result.written)
    json.value(result.written->step_s);
  else
    json.null();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace orrery::cli
