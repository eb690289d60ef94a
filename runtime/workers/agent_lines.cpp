#include "runtime/workers/agent_lines.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json_text.hpp"

namespace orrery::worker {
namespace {

using Json = nlohmann::json;

Error bad_line(std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, "line of the agent", std::move(message)};
}

/// A whole number of the field, if it is there and within the bounds.
template <class T>
std::optional<T> whole(const Json& object,
                       const char* field,
                       std::int64_t least,
                       std::int64_t most) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return std::nullopt;
  const auto value = at->get<std::int64_t>();
  if (value < least || value > most) return std::nullopt;
  return static_cast<T>(value);
}

std::string text_of(const Json& object, const char* field) {
  const auto at = object.find(field);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// Where rank 0 listens: `master` where it is said, else the first port of rank 0's block.
bool find_master(const Json& said, MembershipSaid& out) {
  const auto master = said.find("master");
  if (master != said.end() && master->is_object()) {
    out.master_address = text_of(*master, "address");
    out.master_port = whole<std::uint16_t>(*master, "port", 0, 65535).value_or(0);
    return !out.master_address.empty() && out.master_port != 0;
  }
  const auto members = said.find("members");
  if (members == said.end() || !members->is_array()) return false;
  for (const Json& member : *members) {
    if (!member.is_object() || whole<int>(member, "rank", 0, 0) != 0) continue;
    out.master_address = text_of(member, "address");
    out.master_port = whole<std::uint16_t>(member, "first_port", 0, 65535).value_or(0);
    return !out.master_address.empty() && out.master_port != 0;
  }
  return false;
}

}  // namespace

std::string hello_line(std::string_view worker, std::string_view token) {
  JsonText json;
  json.begin_object().key("hello").begin_object().field("worker", worker);
  if (!token.empty()) json.field("token", token);
  json.end_object().end_object();
  return json.take();
}

std::string profiling_line(const Measured& measured) {
  JsonText json;
  json.begin_object().key("profiling").begin_object();
  json.field("step_time_s", measured.step_time_s).field("throughput", measured.throughput);
  json.field("batch_size", measured.batch_size).end_object().end_object();
  return json.take();
}

std::string progress_line(const Progress& progress) {
  JsonText json;
  json.begin_object().key("progress").begin_object();
  json.field("done", progress.done).field("rate", progress.rate);
  json.field("checkpointed", progress.checkpointed).end_object().end_object();
  return json.take();
}

std::string node_diagnosis_line(std::string_view message) {
  JsonText json;
  json.begin_object().key("diagnosis").begin_object().field("fault", "node");
  json.field("message", message).end_object().end_object();
  return json.take();
}

Result<std::optional<MembershipSaid>> membership_in(std::string_view line) {
  const Json document = Json::parse(line, nullptr, false);
  if (!document.is_object())
    return bad_line("is no JSON object; the agent speaks another protocol");
  const auto said = document.find("membership");
  if (said == document.end()) return std::optional<MembershipSaid>{};
  constexpr std::int64_t kRanksMax = 1 << 20;
  if (!said->is_object()) return bad_line("membership: is no object");
  MembershipSaid out;
  const auto generation =
      whole<std::uint64_t>(*said, "generation", 0, std::numeric_limits<std::int64_t>::max());
  const auto world_size = whole<std::int32_t>(*said, "world_size", 1, kRanksMax);
  if (!generation || !world_size)
    return bad_line("membership: needs generation, and world_size from 1 to 1048576");
  out.generation = *generation;
  out.world_size = *world_size;
  out.rank = whole<std::int32_t>(*said, "rank", 0, *world_size - 1).value_or(-1);
  if (!find_master(*said, out) && out.world_size > 1 && out.rank >= 0)
    return bad_line("membership: tells no master {address, port} and no first_port of rank 0, so " +
                    std::to_string(out.world_size) + " workers have no place to meet");
  return std::optional(std::move(out));
}

}  // namespace orrery::worker
