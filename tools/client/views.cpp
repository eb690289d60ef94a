#include "tools/client/views.hpp"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/amount_text.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/console/printable.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kGib = 1024.0 * 1024 * 1024;

Cell text_cell(std::string text) { return {.text = text.empty() ? "-" : std::move(text)}; }

Cell number_cell(std::int64_t number) { return {.text = std::to_string(number)}; }

std::string of(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + "/" + std::to_string(whole);
}

/// "0-3,6": numbers in their order, runs of neighbours together.
std::string numbers(const json& list) {
  std::string out;
  for (std::size_t at = 0; at < list.size();) {
    if (!list[at].is_number_integer()) return list.dump();
    std::size_t end = at + 1;
    while (end < list.size() && list[end].is_number_integer() &&
           list[end].get<std::int64_t>() == list[end - 1].get<std::int64_t>() + 1)
      ++end;
    if (!out.empty()) out += ",";
    out += std::to_string(list[at].get<std::int64_t>());
    if (end - at > 1) out += "-" + std::to_string(list[end - 1].get<std::int64_t>());
    at = end;
  }
  return out;
}

/// One line of a page: the name padded, then the value; nothing where there is none.
std::string fact(const std::string& name, const std::string& value) {
  if (value.empty()) return "";
  std::string out = name + ":";
  out.resize(std::max<std::size_t>(out.size() + 1, 13), ' ');
  return out + value + "\n";
}

std::string counts(const json& job) {
  std::string out;
  for (const char* key : {"restarts", "reschedules", "preemptions", "node_losses"}) {
    const std::int64_t count = number_of(job, key);
    if (count == 0) continue;
    std::string word = key;
    std::ranges::replace(word, '_', ' ');
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + word;
  }
  return out;
}

/// Workers of the role that were granted, or that it shall have at least where that is more.
std::int64_t wanted_of(const json& role) {
  std::int64_t granted = 0;
  for (const char* key : {"starting", "ready", "draining", "succeeded", "failed"})
    granted += number_of(role, key);
  return std::max(number_of(role, "target"), granted);
}

std::string roles_table(const json& roles, const ConsoleTraits& console) {
  Table table({{.title = "role", .left = true},
               {.title = "target"},
               {.title = "starting"},
               {.title = "ready"},
               {.title = "draining", .spare = 1},
               {.title = "succeeded", .spare = 2},
               {.title = "failed"}});
  for (const json& role : roles)
    table.add_row({text_cell(shown_text_of(role, "name")),
                   number_cell(wanted_of(role)),
                   number_cell(number_of(role, "starting")),
                   number_cell(number_of(role, "ready")),
                   number_cell(number_of(role, "draining")),
                   number_cell(number_of(role, "succeeded")),
                   number_cell(number_of(role, "failed"))});
  return table.text(console.colour, console.table_width());
}

/// "python train.py --lr '1 e'": words that a shell would take apart are quoted.
std::string command_text(const json& words) {
  std::string out;
  for (const json& word : words) {
    const std::string text = printable(word.is_string() ? word.get<std::string>() : word.dump());
    const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("_-+=./:,@%").find(c) != std::string_view::npos;
    });
    std::string quoted = text;
    for (std::size_t at = 0; !plain && (at = quoted.find('\'', at)) != quoted.npos; at += 4)
      quoted.replace(at, 1, "'\\''");
    out += (out.empty() ? "" : " ") + (plain ? text : "'" + quoted + "'");
  }
  return out;
}

/// What each replica of a role takes: "1 device (h200), 2.5 cores, 32 GiB".
std::string bundle_text(const json& bundle) {
  const std::int64_t devices = number_of(bundle, "devices");
  const std::int64_t share = number_of(bundle, "share");
  const std::string model = shown_text_of(bundle, "device_model");
  std::string out = counted(devices, "device");
  if (devices == 1 && share > 0 && share < 1000) out = thousandths_text(share) + " of a device";
  if (!model.empty()) out += " (" + model + ")";
  return out + ", " + cores_text(number_of(bundle, "cpu")) + ", " +
         bytes_text(number_of(bundle, "memory"));
}

/// What runs, role by role.
std::string workload_text(const json& spec) {
  std::string out;
  for (const json& role : list_of(spec, "roles")) {
    const std::string low = shown_text_of(role, "min_replicas");
    const std::string high = shown_text_of(role, "max_replicas");
    out += "  " + shown_text_of(role, "name") + ": " + (low == high ? low : low + " to " + high) +
           (high == "1" ? " replica, with " : " replicas, each with ") +
           bundle_text(member_of(role, "bundle")) + "\n";
    for (const char* key : {"image", "working_directory"})
      if (const std::string value = shown_text_of(role, key); !value.empty())
        out += "    " + std::string(key == std::string_view("image") ? "image" : "in") + ": " +
               value + "\n";
    out += "    command: " + command_text(list_of(role, "command")) + "\n";
  }
  return out;
}

std::string indented(std::string text, std::string_view indent) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return "";
  std::string out(indent);
  for (const char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out + "\n";
}

/// One line for each failure that is known, and the end of what the latest worker wrote.
std::string failures_text(const json& job) {
  std::string out;
  for (const json& each : list_of(job, "failures"))
    out += "  " + time_in_utc(number_of(each, "at")) + "  " + shown_text_of(each, "message") +
           "\n" + indented(shown_text_of(each, "last_lines"), "    ");
  return out;
}

/// `since` of a phase that is over is when it ended; its reason is that of its begin.
std::string conditions_text(const json& conditions) {
  std::string out;
  for (const json& each : conditions) {
    const bool now = truth_of(each, "status");
    out += "  " + shown_text_of(each, "phase") + (now ? " (now) since " : " until ") +
           time_in_utc(number_of(each, "since")) + (now ? ": " : ", entered by ") +
           shown_text_of(each, "reason") + "\n";
  }
  return out;
}

std::string profilings_text(const json& profilings) {
  std::string out;
  for (const json& each : profilings) {
    // Of the membership of now; a new one has reported nothing yet.
    if (list_of(each, "latest").empty()) continue;
    out += "  " + shown_text_of(each, "key") + ":";
    for (const json& sample : list_of(each, "latest"))
      out += " " + shown_text_of(sample, "rank") + "=" + shown_text_of(sample, "value");
    out += "\n";
  }
  return out;
}

std::string section(const std::string& title, const std::string& text) {
  return text.empty() ? "" : "\n" + title + "\n" + text;
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

std::string span_in_words(std::int64_t from_ns, std::int64_t to_ns) {
  if (from_ns <= 0) return "-";
  return time_in_words(static_cast<double>(std::max<std::int64_t>(to_ns - from_ns, 0)) / kSecond);
}

std::string time_in_utc(std::int64_t ns) {
  if (ns <= 0) return "-";
  const std::time_t seconds = ns / kSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string expected_text(std::int64_t start_ns, std::int64_t now_ns) {
  if (start_ns <= 0) return "";
  return start_ns <= now_ns ? "now" : "in " + span_in_words(now_ns, start_ns);
}

std::string ready_text(const json& job) {
  return of(number_of(job, "ready_replicas"),
            std::max(number_of(job, "target"), number_of(job, "replicas")));
}

std::string jobs_table(const json& jobs, const ConsoleTraits& console, bool numbered) {
  std::vector<Column> columns{{.title = "job", .left = true},
                              {.title = "phase", .left = true},
                              {.title = "ready"},
                              {.title = "devices", .spare = 2},
                              {.title = "gen", .spare = 3},
                              {.title = "restarts", .spare = 4},
                              {.title = "age"},
                              {.title = "expected", .left = true, .spare = 5},
                              {.title = "reason", .left = true, .spare = 1}};
  const bool some_expected = std::ranges::any_of(
      jobs, [](const json& job) { return number_of(job, "expected_start") > 0; });
  if (!some_expected) columns.erase(columns.end() - 2);
  if (numbered) columns.insert(columns.begin() + 1, {.title = "number"});
  Table table(std::move(columns));
  const std::int64_t now = now_ns();
  for (const json& job : jobs) {
    std::vector<Cell> row{text_cell(short_name(shown_text_of(job, "name"))),
                          text_cell(shown_text_of(job, "phase")),
                          {.text = ready_text(job)},
                          number_cell(number_of(job, "devices")),
                          number_cell(number_of(job, "generation")),
                          number_cell(number_of(job, "restarts")),
                          {.text = span_in_words(number_of(job, "submitted"), now)},
                          text_cell(shown_text_of(job, "message"))};
    if (some_expected)
      row.insert(row.end() - 1, text_cell(expected_text(number_of(job, "expected_start"), now)));
    if (numbered) row.insert(row.begin() + 1, number_cell(number_of(job, "id")));
    table.add_row(std::move(row));
  }
  return table.text(console.colour, console.table_width());
}

std::string nodes_table(const json& nodes, const ConsoleTraits& console) {
  Table table({{.title = "node", .left = true},
               {.title = "state", .left = true},
               {.title = "devices"},
               {.title = "model", .left = true, .spare = 2},
               {.title = "cpu", .spare = 3},
               {.title = "memory GiB", .spare = 4},
               {.title = "workers"},
               {.title = "heard", .spare = 1},
               {.title = "address", .left = true, .spare = 5}});
  const std::int64_t now = now_ns();
  for (const json& node : nodes) {
    const std::int64_t lost = number_of(node, "devices_lost");
    table.add_row({text_cell(shown_text_of(node, "name")),
                   text_cell(shown_text_of(node, "state")),
                   {.text = of(number_of(node, "devices_held"), number_of(node, "devices")) +
                            (lost > 0 ? " (" + std::to_string(lost) + " lost)" : "")},
                   text_cell(shown_text_of(node, "device_model")),
                   {.text = with_commas(real_of(node, "cpu_millis") / 1000, 1)},
                   {.text = with_commas(real_of(node, "memory_bytes") / kGib, 1)},
                   number_cell(number_of(node, "workers")),
                   {.text = span_in_words(number_of(node, "last_heard"), now)},
                   text_cell(shown_text_of(node, "address"))});
  }
  return table.text(console.colour, console.table_width());
}

std::string queues_table(const json& queues, const ConsoleTraits& console) {
  Table table({{.title = "queue", .left = true},
               {.title = "weight", .spare = 2},
               {.title = "guarantee"},
               {.title = "limit", .spare = 1},
               {.title = "share"},
               {.title = "used"},
               {.title = "borrowed"},
               {.title = "running"},
               {.title = "waiting"}});
  const auto devices = [](const json& queue, const char* key) {
    return with_commas(real_of(queue, key), 1);
  };
  for (const json& queue : queues)
    table.add_row(
        {text_cell(std::string(2 * static_cast<std::size_t>(number_of(queue, "depth")), ' ') +
                   shown_text_of(queue, "name")),
         number_cell(number_of(queue, "weight")),
         {.text = devices(queue, "guarantee")},
         {.text = real_of(queue, "limit") > 0 ? devices(queue, "limit") : "-"},
         {.text = devices(queue, "share")},
         {.text = devices(queue, "used")},
         {.text = devices(queue, "borrowed")},
         number_cell(number_of(queue, "jobs_holding")),
         number_cell(number_of(queue, "jobs_waiting"))});
  return table.text(console.colour, console.table_width());
}

std::string members_table(const json& members, const ConsoleTraits& console) {
  Table table({{.title = "rank"},
               {.title = "role", .left = true},
               {.title = "in role", .spare = 1},
               {.title = "state", .left = true},
               {.title = "node", .left = true},
               {.title = "devices", .left = true},
               {.title = "address", .left = true, .spare = 2}});
  for (const json& member : members) {
    const std::string port = shown_text_of(member, "first_port");
    const std::string address = shown_text_of(member, "address");
    table.add_row({text_cell(shown_text_of(member, "rank")),
                   text_cell(shown_text_of(member, "role")),
                   text_cell(shown_text_of(member, "local_rank")),
                   text_cell(shown_text_of(member, "state")),
                   text_cell(shown_text_of(member, "node")),
                   text_cell(numbers(list_of(member, "devices"))),
                   text_cell(address.empty() || port.empty() ? address : address + ":" + port)});
  }
  return table.text(console.colour, console.table_width());
}

std::string event_line(const json& event, bool colour) {
  const bool warns = shown_text_of(event, "severity") == "Warning";
  std::string subject = short_name(shown_text_of(event, "job"));
  const std::string node = shown_text_of(event, "node");
  if (!node.empty()) subject += (subject.empty() ? "node " : " on ") + node;
  const std::string name = shown_text_of(event, "name");
  // What a worker wrote last has lines of its own.
  std::string message = shown_text_of(event, "message");
  while (message.ends_with('\n')) message.pop_back();
  for (std::size_t at = 0; (at = message.find('\n', at)) != message.npos; at += 5)
    message.replace(at, 1, "\n    ");
  return time_in_utc(number_of(event, "at")) + "  " + (subject.empty() ? "controller" : subject) +
         "  " + (colour && warns ? "\x1b[33m" + name + "\x1b[0m" : name) + "  " + message;
}

std::string failure_text(const json& job) {
  const json& failures = list_of(job, "failures");
  if (failures.empty()) return "";
  const json& last = failures.back();
  const std::string lines = indented(shown_text_of(last, "last_lines"), "    ");
  return "  " + shown_text_of(last, "message") +
         (lines.empty() ? "\n" : "; it wrote last:\n" + lines);
}

std::string job_page(const json& job, const ConsoleTraits& console) {
  const std::int64_t submitted = number_of(job, "submitted");
  const std::int64_t completed = number_of(job, "completed");
  std::string out = fact("job", shown_text_of(job, "name"));
  out += fact("phase", shown_text_of(job, "phase") + " (" + shown_text_of(job, "reason") + ")");
  out += fact("why", shown_text_of(job, "message"));
  out += fact("ready", ready_text(job) + " replicas");
  out += fact("devices", shown_text_of(job, "devices"));
  out += fact("generation", shown_text_of(job, "generation"));
  out += fact("user", shown_text_of(job, "user"));
  out += fact("group", shown_text_of(job, "group"));
  out += fact("priority", shown_text_of(job, "priority"));
  out += fact("so far", counts(job));
  out += fact("submitted",
              time_in_utc(submitted) + ", " + span_in_words(submitted, now_ns()) + " ago");
  if (completed > 0)
    out += fact("ended", time_in_utc(completed) + ", after " + span_in_words(submitted, completed));
  out += section("workload", workload_text(member_of(job, "spec")));
  out += section("failures, the latest last", failures_text(job));
  const json& roles = list_of(job, "roles");
  if (!roles.empty()) out += "\n" + roles_table(roles, console);
  const json& members = list_of(job, "members");
  if (!members.empty()) out += "\n" + members_table(members, console);
  out += section("conditions", conditions_text(list_of(job, "conditions")));
  out += section("profilings (rank=value)", profilings_text(list_of(job, "profilings")));
  std::string events;
  for (const json& event : list_of(job, "events"))
    events += "  " + event_line(event, console.colour) + "\n";
  return out + section("events", events);
}

std::string node_page(const json& node, const ConsoleTraits& console) {
  std::string out = fact("node", shown_text_of(node, "name"));
  out += fact("state", shown_text_of(node, "state"));
  out += fact("why", shown_text_of(node, "message"));
  out += fact("group", shown_text_of(node, "group"));
  out += fact("address", shown_text_of(node, "address"));
  out += fact("heard", span_in_words(number_of(node, "last_heard"), now_ns()) + " ago");
  out += fact("agent", shown_text_of(node, "program"));
  out += fact("devices",
              of(number_of(node, "devices_held"), number_of(node, "devices")) + " taken " +
                  shown_text_of(node, "device_model"));
  if (number_of(node, "devices_lost") > 0) out += fact("lost", shown_text_of(node, "devices_lost"));
  out += fact("cpu", with_commas(real_of(node, "cpu_millis") / 1000, 1));
  out += fact("memory", with_commas(real_of(node, "memory_bytes") / kGib, 1) + " GiB");
  const json& members = list_of(node, "members");
  if (members.empty()) return out;
  Table table({{.title = "job", .left = true},
               {.title = "role", .left = true},
               {.title = "rank"},
               {.title = "state", .left = true},
               {.title = "devices", .left = true}});
  for (const json& member : members)
    table.add_row({text_cell(short_name(shown_text_of(member, "job"))),
                   text_cell(shown_text_of(member, "role")),
                   text_cell(shown_text_of(member, "rank")),
                   text_cell(shown_text_of(member, "state")),
                   text_cell(numbers(list_of(member, "devices")))});
  return out + "\n" + table.text(console.colour, console.table_width());
}

}  // namespace orrery::cli
