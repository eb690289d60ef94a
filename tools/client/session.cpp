#include "tools/client/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/config/key_rights.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/console/input_file.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kTimeoutMaxS = 3600;

/// The option, else the variable; empty: neither.
std::string setting(const Arguments& arguments, std::string_view option, const char* variable) {
  if (const auto value = arguments.value(option)) return *value;
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

Result<std::string> token_in(const std::string& path) {
  Result<std::string> text = read_input(path);
  if (!text) return text.errors();
  const std::size_t end = text->find_last_not_of(" \t\r\n");
  std::string token = text->substr(0, end == text->npos ? 0 : end + 1);
  if (token.empty() || token.find_first_of(" \t\r\n") != token.npos)
    return Error{.file = path,
                 .message = "holds no token, needed one word on one line; see orrery certs"};
  return token;
}

/// Whether it may stand in a header.
bool is_plain(char c) { return c > ' ' && c <= '~'; }

// The controller may have named the subject already: "train.yaml:2: ...", or "default.train: ..."
// where the subject is "job default.train".
std::string about(std::string_view subject, std::string_view reason) {
  if (subject.empty() || reason.starts_with(subject)) return std::string(reason);
  const std::size_t name = subject.rfind(' ') + 1;
  const std::string_view behind =
      reason.starts_with(subject.substr(name)) ? reason.substr(subject.size() - name) : "";
  if (behind.starts_with(": ") || behind.starts_with(' '))
    return std::string(subject) + std::string(behind);
  return std::string(subject) + ": " + std::string(reason);
}

/// What the controller gives as reason: one line or several.
std::vector<std::string> reasons_of(const HttpReply& reply) {
  const auto document = nlohmann::json::parse(reply.body, nullptr, false);
  std::vector<std::string> out;
  const nlohmann::json& error = member_of(document, "error");
  for (const nlohmann::json& each : list_of(error, "details"))
    if (each.is_string()) out.push_back(each.get<std::string>());
  if (out.empty() && !text_of(error, "message").empty()) out.push_back(text_of(error, "message"));
  if (out.empty() && !text_of(document, "message").empty())
    out.push_back(text_of(document, "message"));
  if (out.empty()) out.push_back("refused with HTTP status " + std::to_string(reply.status));
  return out;
}

}  // namespace

Result<ClientOptions> client_options(const Arguments& arguments) {
  ClientOptions out;
  Errors errors;
  const auto keep = [&errors](const Errors& more) {
    errors.insert(errors.end(), more.begin(), more.end());
  };
  if (const std::string server = setting(arguments, "--server", "ORRERY_SERVER"); !server.empty()) {
    std::vector<ServerAddress> all;
    for (std::size_t begin = 0; begin <= server.size();) {
      const std::size_t end = std::min(server.find(',', begin), server.size());
      std::string_view each = std::string_view(server).substr(begin, end - begin);
      while (each.starts_with(' ')) each.remove_prefix(1);
      while (each.ends_with(' ')) each.remove_suffix(1);
      if (const auto address = server_address(each)) {
        all.push_back(*address);
      } else {
        keep(address.errors());
      }
      begin = end + 1;
    }
    if (!all.empty()) {
      out.server = all.front();
      out.others.assign(all.begin() + 1, all.end());
    }
  }
  out.tls = {setting(arguments, "--ca", "ORRERY_CA"),
             setting(arguments, "--cert", "ORRERY_CERT"),
             setting(arguments, "--key", "ORRERY_KEY")};
  if (out.tls.certificate.empty() != out.tls.key.empty())
    errors.push_back({.subject = "--cert, --key",
                      .message = "one of them found, needed both or none; name both files"});
  if (std::optional<Error> open = runtime::check_kept_secret(out.tls.key)) errors.push_back(*open);
  if (const std::string path = setting(arguments, "--token-file", "ORRERY_TOKEN_FILE");
      !path.empty()) {
    if (const auto token = token_in(path)) {
      out.token = *token;
    } else {
      keep(token.errors());
    }
  }
  std::vector<ServerAddress> asked = out.others;
  asked.insert(asked.begin(), out.server);
  for (const ServerAddress& each : asked)
    if (!out.token.empty() && each.kind == ServerAddress::Kind::Http && !each.is_local())
      errors.push_back(
          {.subject = "--token-file",
           .message = "the token would travel in clear to " + each.text() +
                      ", needed TLS; name the controller with https://, or use no token"});
  for (const char* variable : {"LOGNAME", "USER"})
    if (const char* name = std::getenv(variable); out.user.empty() && name != nullptr)
      if (const std::string_view text(name); std::ranges::all_of(text, is_plain)) out.user = text;
  if (out.user.empty()) out.user = "uid-" + std::to_string(getuid());
  if (const auto timeout = arguments.value("--timeout")) {
    if (const auto seconds = whole_number("--timeout", *timeout, 1, kTimeoutMaxS)) {
      out.timeout = std::chrono::seconds(*seconds);
      out.timeout_is_wished = true;
    } else {
      keep(seconds.errors());
    }
  }
  if (!errors.empty()) return errors;
  return out;
}

ExitCode Session::tell(const Errors& errors) {
  if (interrupted()) return code_ = ExitCode::Interrupted;
  console_.errors(errors);
  return code_ = errors.front().code == ErrorCode::Unavailable ? ExitCode::Unreachable
                                                               : ExitCode::BadInput;
}

ExitCode Session::tell(const HttpReply& reply, std::string_view subject) {
  std::string text;
  for (const std::string& reason : reasons_of(reply)) text += about(subject, reason) + "\n";
  console_.err(text);
  if (reply.status == 503) return code_ = ExitCode::Unreachable;
  return code_ = reply.status == 400 ? ExitCode::BadInput : ExitCode::Unmet;
}

nlohmann::json Session::ask(const HttpRequest& request, std::string_view subject) {
  return read(client_.send(request), subject);
}

nlohmann::json Session::read(const Result<HttpReply>& reply, std::string_view subject) {
  if (!reply) {
    tell(reply.errors());
    return nullptr;
  }
  if (!reply->is_good()) {
    tell(*reply, subject);
    return nullptr;
  }
  auto document = nlohmann::json::parse(reply->body, nullptr, false);
  if (document.is_object()) return document;
  tell(Errors{{.code = ErrorCode::Unavailable,
               .subject = client_.options().server.text(),
               .message = "what answers there is no controller of Orrery; name one with --server "
                          "or ORRERY_SERVER"}});
  return nullptr;
}

nlohmann::json Session::ask_list(const char* key, const std::string& query) {
  nlohmann::json out = nlohmann::json::array();
  const std::string list = std::string("/api/v1/") + key;
  std::string target = list + (query.empty() ? "" : "?" + query);
  while (true) {
    const nlohmann::json page = ask({.target = target}, "");
    if (page.is_null()) return nullptr;
    for (const nlohmann::json& each : list_of(page, key)) out.push_back(each);
    const std::string next = text_of(page, "next");
    if (next.empty()) return out;
    target = list + "?" + (query.empty() ? "" : query + "&") + "after=" + url_escaped(next);
  }
}

std::string job_target(std::string_view name, std::string_view rest) {
  return "/api/v1/jobs/" + url_escaped(full_name(name)) + std::string(rest);
}

}  // namespace orrery::cli
