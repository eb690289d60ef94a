#include "core/queues/queue_text.hpp"

#include <utility>
#include <vector>

#include "core/base/number_text.hpp"

namespace orrery {
namespace {

std::string duration_text(Duration value) {
  const std::int64_t second = Duration::seconds(1).ns;
  if (value.ns % second == 0) return std::to_string(value.ns / second) + "s";
  return std::to_string(value.ns) + "ns";
}

std::optional<Duration> parsed_duration(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with("ns")) {
    text.remove_suffix(2);
  } else if (text.ends_with("s")) {
    text.remove_suffix(1);
    unit = Duration::seconds(1).ns;
  } else {
    return std::nullopt;
  }
  const auto number = parsed_number<std::int64_t>(text);
  if (!number || *number < 0 || *number > INT64_MAX / unit) return std::nullopt;
  return Duration{*number * unit};
}

/// The parts of a text between separators, without blanks around them.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::pair<std::string_view, std::string_view> key_and_value(std::string_view field) {
  const std::size_t equals = field.find('=');
  if (equals == std::string_view::npos) return {field, {}};
  return {field.substr(0, equals), field.substr(equals + 1)};
}

template <class T>
bool put(T& to, std::optional<T> read) {
  if (read) to = *std::move(read);
  return read.has_value();
}

bool put_flag(bool& to, std::string_view text) {
  to = text == "true";
  return to || text == "false";
}

bool put_amount(std::optional<QueueAmount>& to, std::string_view text) {
  to = queue_amount(text);
  return to.has_value();
}

bool put_users(QueueSpec& queue, std::string_view text) {
  for (const std::string_view entry : parts_of(text, ',')) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) return false;
    const auto limit = queue_amount(entry.substr(colon + 1));
    if (!limit) return false;
    queue.users.push_back({std::string(entry.substr(0, colon)), *limit});
  }
  return true;
}

bool put_field(QueueSpec& queue, std::string_view key, std::string_view value) {
  if (key == "parent") return put(queue.parent, std::optional(std::string(value)));
  if (key == "weight") return put(queue.weight, parsed_number<std::int64_t>(value));
  if (key == "priority") return put(queue.priority, parsed_number<std::int32_t>(value));
  if (key == "guarantee") return put(queue.guarantee, queue_amount(value));
  if (key == "limit") return put_amount(queue.limit, value);
  if (key == "borrow") return put_amount(queue.borrow, value);
  if (key == "reclaim") return put_flag(queue.reclaim, value);
  if (key == "user_limit") return put_amount(queue.user_limit, value);
  return key == "users" && put_users(queue, value);
}

bool put_field(QueuesSpec& spec, std::string_view key, std::string_view value) {
  if (key == "period") return put(spec.period, parsed_duration(value));
  if (key == "half_life") return put(spec.half_life, parsed_duration(value));
  if (key == "patience") return put(spec.patience, parsed_duration(value));
  if (key == "default") return put(spec.otherwise, std::optional(std::string(value)));
  if (key == "sizes") return put_flag(spec.sizes_jobs, value);
  if (key != "resources") return false;
  for (const std::string_view name : parts_of(value, ',')) {
    if (name == "cpu")
      spec.cpu = true;
    else if (name == "memory")
      spec.memory = true;
    else if (name != "devices")
      return false;
  }
  return true;
}

Error refused(std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, "policy.queues", std::move(message)};
}

std::string whole_text(const QueuesSpec& spec) {
  const QueuesSpec initial;
  std::string out;
  const auto add = [&](std::string_view key, const std::string& value) {
    out += std::string(out.empty() ? "" : " ") + std::string(key) + "=" + value;
  };
  if (spec.period != initial.period) add("period", duration_text(spec.period));
  if (spec.half_life != initial.half_life) add("half_life", duration_text(spec.half_life));
  if (spec.patience != initial.patience) add("patience", duration_text(spec.patience));
  if (spec.cpu || spec.memory)
    add("resources",
        std::string("devices") + (spec.cpu ? ",cpu" : "") + (spec.memory ? ",memory" : ""));
  if (!spec.otherwise.empty()) add("default", spec.otherwise);
  if (spec.sizes_jobs) add("sizes", "true");
  return out;
}

std::string queue_text(const QueueSpec& queue) {
  std::string out = queue.name;
  const auto add = [&](std::string_view key, const std::string& value) {
    out += " " + std::string(key) + "=" + value;
  };
  if (!queue.parent.empty()) add("parent", queue.parent);
  if (queue.weight != 1) add("weight", std::to_string(queue.weight));
  if (queue.priority != 0) add("priority", std::to_string(queue.priority));
  if (queue.guarantee.thousandths > 0) add("guarantee", queue.guarantee.text());
  if (queue.limit) add("limit", queue.limit->text());
  if (queue.borrow) add("borrow", queue.borrow->text());
  if (!queue.reclaim) add("reclaim", "false");
  if (queue.user_limit) add("user_limit", queue.user_limit->text());
  std::string users;
  for (const QueueUser& user : queue.users)
    users += (users.empty() ? "" : ",") + user.name + ":" + user.limit.text();
  if (!users.empty()) add("users", users);
  return out;
}

}  // namespace

std::string queues_text(const QueuesSpec& spec) {
  std::string out = whole_text(spec);
  for (const QueueSpec& queue : spec.queues) out += (out.empty() ? "" : "; ") + queue_text(queue);
  return out;
}

std::string fault_text(const QueuesSpec& spec, const QueueFault& fault) {
  const std::string key = fault.key.empty() ? "" : fault.key + " ";
  if (fault.queue == SIZE_MAX) return key + fault.message;
  return "queue " + spec.queues[fault.queue].name + ": " + key + fault.message;
}

Result<QueuesSpec> parsed_queues(std::string_view text) {
  QueuesSpec spec;
  Errors errors;
  bool first = true;
  for (const std::string_view part : parts_of(text, ';')) {
    const std::vector<std::string_view> fields = parts_of(part, ' ');
    const bool of_whole = first && fields.front().find('=') != std::string_view::npos;
    first = false;
    QueueSpec queue;
    if (!of_whole) queue.name = std::string(fields.front());
    for (std::size_t i = of_whole ? 0 : 1; i < fields.size(); ++i) {
      const auto field = key_and_value(fields[i]);
      const bool good = of_whole ? put_field(spec, field.first, field.second)
                                 : put_field(queue, field.first, field.second);
      if (!good)
        errors.push_back(refused(
            "has '" + std::string(fields[i]) + "'" + (of_whole ? "" : " of queue " + queue.name) +
            ", which is no key of a queue with a value that it takes; write a map with a tree: "
            "docs/queues.md has the keys"));
    }
    if (!of_whole) spec.queues.push_back(std::move(queue));
  }
  if (errors.empty())
    for (const QueueFault& fault : check_queues(spec, std::nullopt))
      errors.push_back(refused(fault_text(spec, fault)));
  if (!errors.empty()) return errors;
  return spec;
}

}  // namespace orrery
