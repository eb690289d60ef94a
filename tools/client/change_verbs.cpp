// scale, stop, delete: requests that change jobs.
#include <nlohmann/json.hpp>

#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kReplicasMax = 1'000'000;

/// Sends one request for each job, and tells `done` of each that was taken.
ExitCode for_each_job(const Arguments& arguments,
                      Console& console,
                      HttpRequest (*request)(const std::string& name),
                      const char* done) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  json names = json::array();
  for (const std::string& name : arguments.operands()) {
    const json document = session.ask(request(name), "job " + full_name(name));
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted) break;
    if (document.is_null()) continue;
    names.push_back(full_name(name));
    if (!arguments.has("--json")) console.out(name + ": " + done + "\n");
  }
  if (arguments.has("--json")) console.out(json{{done, names}}.dump() + "\n");
  return session.code();
}

}  // namespace

ExitCode run_stop(const Arguments& arguments, Console& console) {
  return for_each_job(
      arguments,
      console,
      [](const std::string& name) {
        return HttpRequest{.method = "POST", .target = job_target(name, "/stop")};
      },
      "stopped");
}

ExitCode run_delete(const Arguments& arguments, Console& console) {
  return for_each_job(
      arguments,
      console,
      [](const std::string& name) {
        return HttpRequest{.method = "DELETE", .target = job_target(name)};
      },
      "deleted");
}

ExitCode run_scale(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  const std::string& wanted = arguments.operands()[1];
  const std::size_t equals = wanted.find('=');
  const std::string role = equals == wanted.npos ? "" : wanted.substr(0, equals);
  const auto replicas =
      whole_number("orrery scale: replicas",
                   std::string_view(wanted).substr(equals == wanted.npos ? 0 : equals + 1),
                   1,
                   kReplicasMax);
  if (!options) console.errors(options.errors());
  if (!replicas) console.errors(replicas.errors());
  if (!options || !replicas) return ExitCode::BadInput;
  json body = {{"replicas", *replicas}};
  if (!role.empty()) body["role"] = role;
  const std::string& name = arguments.operands()[0];
  Session session(*options, console);
  const json document =
      session.ask({.method = "POST", .target = job_target(name, "/scale"), .body = body.dump()},
                  "job " + full_name(name));
  if (document.is_null()) return session.code();
  if (arguments.has("--json")) {
    console.out(document.dump(2) + "\n");
  } else {
    console.out(name + ": " + (role.empty() ? "" : "role " + role + " ") + "shall have " +
                std::to_string(*replicas) + (*replicas == 1 ? " replica\n" : " replicas\n"));
  }
  return session.code();
}

}  // namespace orrery::cli
