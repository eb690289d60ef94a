// scale, stop, delete, exclude, include: requests that change jobs and nodes.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kReplicasMax = 1'000'000;

/// What a request is for.
struct Target {
  std::string shown;  ///< As the user named it.
  std::string full;
  std::string what;  ///< "job default.train", for errors.
  HttpRequest request;
};

/// Sends one request for each operand, and tells `done` of each that was taken.
ExitCode for_each_operand(const Arguments& arguments,
                          Console& console,
                          Target (*target_of)(const std::string& operand),
                          const char* done) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  for (const std::string& operand : arguments.operands())
    if (target_of(operand).shown.empty()) {
      console.errors(Errors{{.subject = "'" + operand + "'",
                             .message = "names nothing, a name is needed; see orrery get"}});
      return ExitCode::BadInput;
    }
  json names = json::array();
  for (const std::string& operand : arguments.operands()) {
    const Target target = target_of(operand);
    const json document = session.ask(target.request, target.what);
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted) break;
    if (document.is_null()) continue;
    names.push_back(target.full);
    if (!arguments.has("--json")) console.out(target.shown + ": " + done + "\n");
  }
  if (arguments.has("--json")) console.out(json{{done, names}}.dump() + "\n");
  return session.code();
}

Target job(const std::string& name, HttpRequest request) {
  return {name, full_name(name), "job " + full_name(name), std::move(request)};
}

/// `operand` is NAME or, as for describe, node/NAME.
Target node(std::string_view operand, std::string_view change) {
  constexpr std::string_view kNode = "node/";
  if (operand.starts_with(kNode)) operand.remove_prefix(kNode.size());
  const std::string name(operand);
  return {name,
          name,
          "node " + name,
          {.method = "POST",
           .target = "/api/v1/nodes/" + url_escaped(name) + "/" + std::string(change)}};
}

}  // namespace

ExitCode run_stop(const Arguments& arguments, Console& console) {
  return for_each_operand(
      arguments,
      console,
      [](const std::string& name) {
        return job(name, {.method = "POST", .target = job_target(name, "/stop")});
      },
      "stopped");
}

ExitCode run_delete(const Arguments& arguments, Console& console) {
  return for_each_operand(
      arguments,
      console,
      [](const std::string& name) {
        return job(name, {.method = "DELETE", .target = job_target(name)});
      },
      "deleted");
}

ExitCode run_exclude(const Arguments& arguments, Console& console) {
  return for_each_operand(
      arguments,
      console,
      [](const std::string& operand) { return node(operand, "exclude"); },
      "excluded");
}

ExitCode run_include(const Arguments& arguments, Console& console) {
  return for_each_operand(
      arguments,
      console,
      [](const std::string& operand) { return node(operand, "include"); },
      "included");
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
