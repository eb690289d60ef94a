#include "core/record/record_text.hpp"

#include <array>

#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery {

std::string_view event_kind_name(std::size_t index) {
  static constexpr std::array<std::string_view, std::variant_size_v<EventKinds>> kNames{
      "epoch_started",   "nodes_declared",    "quotas_declared",   "job_submitted",
      "scale_requested", "stop_requested",    "profiling_changed", "progress_reported",
      "workers_changed", "node_silent",       "node_returned",     "time_reached",
      "plan_proposed",   "sub_master_said",   "nodes_relaunched",  "exclusion_requested",
      "node_leaving",    "devices_lost",      "worker_suspected",  "delete_requested",
      "job_changed",     "failure_explained", "node_held",         "plan_lost"};
  return kNames[index];
}

std::string_view kind_name(const EventBody& body) { return event_kind_name(body.index()); }

std::string_view kind_name(const CommandBody& body) {
  static constexpr std::array<std::string_view, std::variant_size_v<CommandKinds>> kNames{
      "start_workers",
      "stop_workers",
      "update_membership",
      "clean_job",
      "answer_request",
      "tell_sub_master",
      "relaunch_nodes"};
  return kNames[body.index()];
}

std::string event_json(std::uint64_t sequence, const Event& event) {
  JsonText out;
  out.begin_object();
  out.field("sequence", sequence);
  out.field("at", event.at.ns);
  out.field("occurred_at", event.occurred_at.ns);
  out.field("origin", to_string(event.origin));
  out.field("kind", kind_name(event.body));
  JsonFields fields(out);
  std::visit([&](const auto& body) { std::decay_t<decltype(body)>::fields(body, fields); },
             event.body);
  out.end_object();
  return out.take();
}

}  // namespace orrery
