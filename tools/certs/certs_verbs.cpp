#include "tools/certs/certs_verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/utc_text.hpp"
#include "runtime/config/node_names.hpp"
#include "runtime/security/authority.hpp"
#include "runtime/security/secret_files.hpp"
#include "runtime/security/tokens.hpp"

namespace orrery::cli {
namespace {

using runtime::CertificateRequest;
using runtime::Existing;
using runtime::Holder;
using runtime::KeyPair;
using runtime::NewFile;
using runtime::Role;
using runtime::Validity;

constexpr std::int64_t kDaysDefault = 365;
constexpr std::int64_t kDaysMax = 3650;
constexpr Duration kDay = Duration::seconds(86400);

Validity days_from_now(std::int64_t days) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count()},
          kDay * days};
}

Result<Validity> wanted_validity(const Arguments& arguments) {
  const auto text = arguments.value("--days");
  if (!text) return days_from_now(kDaysDefault);
  const auto days = whole_number("--days", *text, 1, kDaysMax);
  if (!days) return days.errors();
  return days_from_now(static_cast<std::int64_t>(*days));
}

Existing wanted_existing(const Arguments& arguments) {
  return arguments.has("--force") ? Existing::Replace : Existing::Refuse;
}

std::string host_of_machine() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

/// Also good for the machine itself: the controller's own health checks come that way.
std::vector<std::string> with_this_machine(std::vector<std::string> hosts) {
  for (const char* local : {"localhost", "127.0.0.1", "::1"})
    if (std::find(hosts.begin(), hosts.end(), local) == hosts.end()) hosts.emplace_back(local);
  return hosts;
}

ExitCode refuse(Console& console, const Errors& errors) {
  console.errors(errors);
  return ExitCode::BadInput;
}

/// A certificate and its key as files DIR/STEM.pem and DIR/STEM.key.
void add_pair(const std::string& stem, KeyPair pair, std::vector<NewFile>& files) {
  // The key first: where there is a certificate there is its key.
  files.push_back({stem + ".key", std::move(pair.key), true});
  files.push_back({stem + ".pem", std::move(pair.certificate), false});
}

Result<KeyPair> read_authority(const std::string& folder) {
  auto key = runtime::read_whole_file(folder + "/ca.key");
  auto certificate = runtime::read_whole_file(folder + "/ca.pem");
  Errors errors;
  if (!key) errors.insert(errors.end(), key.errors().begin(), key.errors().end());
  if (!certificate)
    errors.insert(errors.end(), certificate.errors().begin(), certificate.errors().end());
  if (!errors.empty()) return errors;
  return KeyPair{std::move(*key), std::move(*certificate)};
}

/// "2027-11-22".
std::string day_of(Instant when) {
  const std::time_t seconds = when.ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%F", &parts);
  return text.data();
}

std::string last_day_of(const std::string& certificate) {
  const auto facts = runtime::read_certificate(certificate);
  return facts ? day_of(facts->expires) : "?";
}

/// Makes one certificate for each request, and tells where they are.
ExitCode issue_all(const std::vector<CertificateRequest>& requests,
                   const Arguments& arguments,
                   Console& console) {
  const std::string folder = arguments.value("--dir").value_or("certs");
  const auto validity = wanted_validity(arguments);
  if (!validity) return refuse(console, validity.errors());
  const auto authority = read_authority(folder);
  if (!authority) return refuse(console, authority.errors());
  std::vector<NewFile> files;
  Errors errors;
  for (const CertificateRequest& request : requests) {
    auto pair = runtime::issue(*authority, request, *validity);
    if (!pair) {
      errors.insert(errors.end(), pair.errors().begin(), pair.errors().end());
      continue;
    }
    const std::string role(to_string(request.holder.role));
    add_pair(folder + "/" + role + "-" + request.holder.name, std::move(*pair), files);
  }
  if (!errors.empty()) return refuse(console, errors);
  if (Status written = runtime::write_files(files, wanted_existing(arguments)); !written)
    return refuse(console, written.errors());
  for (std::size_t i = 0; i + 1 < files.size(); i += 2)
    console.out(files[i + 1].path + " and " + files[i].path + ": until " +
                last_day_of(files[i + 1].content) + "\n");
  console.out("Take both, and " + folder +
              "/ca.pem, to where they are used; the key stays secret.\n");
  return ExitCode::Met;
}

ExitCode issue_names(Role role, const Arguments& arguments, Console& console) {
  std::vector<CertificateRequest> requests;
  Errors errors;
  for (const std::string& operand : arguments.operands()) {
    std::vector<std::string> names{operand};
    if (role == Role::Agent) {
      auto expanded = runtime::expand_node_names(operand);
      if (!expanded) {
        errors.push_back({ErrorCode::InvalidInput,
                          {},
                          0,
                          "agent '" + operand + "'",
                          "is no name and no names in brackets, 1,048,576 at most; write for "
                          "example gpu-[1-8]"});
        continue;
      }
      names = std::move(*expanded);
    }
    for (std::string& name : names) {
      const bool repeated = std::any_of(requests.begin(), requests.end(), [&](const auto& earlier) {
        return earlier.holder.name == name;
      });
      if (!repeated) requests.push_back({{role, std::move(name)}, {}});
    }
  }
  if (!errors.empty()) return refuse(console, errors);
  return issue_all(requests, arguments, console);
}

}  // namespace

ExitCode run_certs_init(const Arguments& arguments, Console& console) {
  const std::string folder = arguments.operands().empty() ? "certs" : arguments.operands().front();
  const auto validity = wanted_validity(arguments);
  if (!validity) return refuse(console, validity.errors());
  std::vector<std::string> hosts = arguments.values("--host");
  if (hosts.empty() && runtime::is_certificate_host(host_of_machine()))
    hosts.push_back(host_of_machine());
  hosts = with_this_machine(std::move(hosts));

  auto authority = runtime::make_authority(days_from_now(kDaysMax));
  if (!authority) return refuse(console, authority.errors());
  auto controller =
      runtime::issue(*authority, {{Role::Controller, "controller"}, hosts}, *validity);
  if (!controller) return refuse(console, controller.errors());

  std::error_code failure;
  std::filesystem::create_directories(folder, failure);  // What fails is told by what follows.
  std::vector<NewFile> files;
  add_pair(folder + "/ca", std::move(*authority), files);
  add_pair(folder + "/controller", std::move(*controller), files);
  if (Status written = runtime::write_files(files, wanted_existing(arguments)); !written)
    return refuse(console, written.errors());

  std::string reached;
  for (const std::string& host : hosts) reached += (reached.empty() ? "" : ", ") + host;
  console.out(folder + "/ca.pem          the authority: every machine needs it, until " +
              last_day_of(files[1].content) + "\n" + folder +
              "/ca.key          signs certificates: keep it off the cluster, and secret\n" +
              folder + "/controller.pem  the controller, reached at " + reached + ", until " +
              last_day_of(files[3].content) + "\n" + folder +
              "/controller.key  its key: only on the controller's machine\n\n" +
              "Next, for each node:    orrery certs agent NAME --dir " + folder + "\n" +
              "and for each person:    orrery certs user NAME --dir " + folder + "\n");
  return ExitCode::Met;
}

ExitCode run_certs_controller(const Arguments& arguments, Console& console) {
  const std::vector<std::string> hosts = with_this_machine(arguments.values("--host"));
  return issue_all({{{Role::Controller, arguments.operands().front()}, hosts}}, arguments, console);
}

ExitCode run_certs_agent(const Arguments& arguments, Console& console) {
  return issue_names(Role::Agent, arguments, console);
}

ExitCode run_certs_user(const Arguments& arguments, Console& console) {
  return issue_names(Role::User, arguments, console);
}

ExitCode run_certs_admin(const Arguments& arguments, Console& console) {
  return issue_names(Role::Admin, arguments, console);
}

ExitCode run_certs_token(const Arguments& arguments, Console& console) {
  const std::string file = arguments.value("--file").value_or("certs/tokens");
  const auto role = enum_from<Role>(arguments.value("--role").value_or(""));
  const std::string name = arguments.value("--name").value_or("");
  Errors errors;
  if (!role)
    errors.push_back({ErrorCode::InvalidInput,
                      {},
                      0,
                      "--role",
                      "is missing, user, admin or agent is needed; write for example --role user"});
  if (name.empty() || (role && !runtime::is_holder_name(*role, name)))
    errors.push_back({ErrorCode::InvalidInput,
                      {},
                      0,
                      "--name",
                      "is '" + name +
                          "', a name of letters, digits and . _ @ - is needed (an agent's is its "
                          "node's); write for example --name ann"});
  if (!errors.empty()) return refuse(console, errors);
  const Holder holder{*role, name};
  if (arguments.has("--revoke")) {
    const auto revoked = runtime::revoke_tokens(file, holder);
    if (!revoked) {
      console.errors(revoked.errors());
      return revoked.errors().front().code == ErrorCode::NotFound ? ExitCode::Unmet
                                                                  : ExitCode::BadInput;
    }
    console.out(file + ": " + std::to_string(*revoked) + " removed\n");
    return ExitCode::Met;
  }
  const auto token = runtime::make_token();
  if (!token) return refuse(console, token.errors());
  if (Status added = runtime::add_token(file, *token, holder); !added)
    return refuse(console, added.errors());
  console.out(*token + "\n");
  console.err("Its digest is in " + file +
              ", the controller's tokens_file. The token is shown this once.\n");
  return ExitCode::Met;
}

ExitCode run_certs_show(const Arguments& arguments, Console& console) {
  Errors errors;
  const Instant now = days_from_now(0).now;
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("certificates").begin_array();
  for (const std::string& path : arguments.operands()) {
    const auto text = runtime::read_whole_file(path);
    const auto facts =
        text ? runtime::read_certificate(*text) : Result<runtime::CertificateFacts>(text.errors());
    if (!facts) {
      Error error = facts.errors().front();
      error.file = path;
      errors.push_back(std::move(error));
      continue;
    }
    const std::string role = facts->role.empty() ? "authority" : facts->role;
    const bool has_ended = facts->expires < now;
    json.begin_object().field("file", path).field("role", role).field("name", facts->name);
    json.field("expires", facts->expires.ns).field("expires_utc", utc_text(facts->expires));
    json.field("ended", has_ended).end_object();
    if (arguments.has("--json")) continue;
    console.out(path + ": " + role + " " + facts->name + (has_ended ? ", ended " : ", until ") +
                day_of(facts->expires) + "\n");
  }
  json.end_array().end_object();
  if (arguments.has("--json")) console.out(json.take() + "\n");
  if (!errors.empty()) return refuse(console, errors);
  return ExitCode::Met;
}

}  // namespace orrery::cli
