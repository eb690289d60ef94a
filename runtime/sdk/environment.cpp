#include "runtime/sdk/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "core/base/number_text.hpp"
#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk::detail {
namespace {

/// Reads variables and keeps all findings.
class VariableReader {
 public:
  explicit VariableReader(const Environment& environment) : environment_(environment) {}

  std::string needed(std::string_view name) {
    if (std::optional<std::string> value = environment_(name)) return *value;
    note(std::string(name) +
         ": found none, needed one; start the worker by its agent, which sets it");
    return {};
  }

  std::string text(std::string_view name, std::string otherwise = {}) {
    return environment_(name).value_or(std::move(otherwise));
  }

  std::int64_t number(std::string_view name, std::int64_t least) {
    const std::string value = needed(name);
    if (value.empty()) return least;
    const std::optional<std::int64_t> number = parsed_number<std::int64_t>(value);
    if (number && *number >= least) return *number;
    note(std::string(name) + ": found \"" + value.substr(0, 100) +
         "\", needed a whole number from " + std::to_string(least) +
         "; start the worker by its agent, which sets it");
    return least;
  }

  void note(std::string finding) { findings_.push_back(std::move(finding)); }

  void check() const {
    if (!findings_.empty()) throw BadSettings(findings_);
  }

 private:
  const Environment& environment_;
  std::vector<std::string> findings_;
};

std::int64_t member_number(const Value& object, const char* name, std::int64_t otherwise) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

std::string member_text(const Value& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string own_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string out = host.data();
  out = out.substr(0, std::min<std::size_t>(out.find('.'), 30));
  std::ranges::replace_if(
      out,
      [](char c) {
        return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 c == '-' || c == '_');
      },
      '-');
  // Two drivers of one process are two as well.
  return out + "-" + std::to_string(::getpid()) + "-" + random_hex(4);
}

bool is_driver_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string token_in_file(const std::string& path, VariableReader& reader) {
  std::ifstream file(path);
  std::string token;
  if (!(file >> token))
    reader.note("ORRERY_TOKEN_FILE: found " + path +
                ", which holds no token, needed one word on one line; see orrery certs");
  return token;
}

}  // namespace

std::optional<std::string> process_variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

WorkerStart worker_start(const Environment& environment) {
  VariableReader reader(environment);
  WorkerStart out;
  out.worker = reader.needed("ORRERY_WORKER");
  out.job = reader.needed("ORRERY_JOB");
  out.role = reader.needed("ORRERY_ROLE");
  out.token = reader.needed("ORRERY_TOKEN");
  Membership& membership = out.membership;
  membership.rank = reader.number("ORRERY_RANK", 0);
  membership.role_rank = reader.number("ORRERY_LOCAL_RANK", 0);
  membership.world_size = reader.number("ORRERY_WORLD_SIZE", 1);
  membership.generation = static_cast<std::uint64_t>(reader.number("ORRERY_GENERATION", 0));
  membership.master_address = reader.text("MASTER_ADDR");
  membership.master_port = parsed_number<std::int64_t>(reader.text("MASTER_PORT")).value_or(0);
  out.socket = reader.text("ORRERY_SOCKET");
  out.call_address = reader.text("ORRERY_CALL_ADDRESS", out.call_address);
  out.call_certificate = reader.text("ORRERY_CALL_CERTIFICATE");
  out.server_url = reader.text("ORRERY_SERVER_URL");
  out.server_url_file = reader.text("ORRERY_SERVER_URL_FILE");
  out.ca = reader.text("ORRERY_CA");
  if (!out.server_url.empty())
    if (std::string why = unfit_access({out.server_url, out.token, out.ca, {}}); !why.empty())
      reader.note("ORRERY_SERVER_URL: " + why);
  reader.check();
  if (const std::string path = reader.text("ORRERY_MEMBERSHIP"); !path.empty()) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (std::optional<Membership> told = membership_in(line);
        told && told->generation == membership.generation && told->rank == membership.rank)
      membership = std::move(*told);
  }
  return out;
}

DirectoryAccess driver_access(DriverOptions options, const Environment& environment) {
  VariableReader reader(environment);
  DirectoryAccess out;
  out.controller.url = options.url.empty() ? reader.text("ORRERY_SERVER_URL") : options.url;
  if (options.url.empty()) out.controller.url_file = reader.text("ORRERY_SERVER_URL_FILE");
  if (out.controller.url.empty())
    out.controller.url = reader.text("ORRERY_SERVER", "http://127.0.0.1:22100");
  out.controller.ca = options.ca.empty() ? reader.text("ORRERY_CA") : options.ca;
  out.controller.token = options.token.empty() ? reader.text("ORRERY_TOKEN") : options.token;
  if (out.controller.token.empty())
    if (const std::string path = reader.text("ORRERY_TOKEN_FILE"); !path.empty())
      out.controller.token = token_in_file(path, reader);
  out.job = options.job.empty() ? reader.text("ORRERY_JOB") : options.job;
  if (out.job.empty())
    reader.note("job: found none, needed its name; give DriverOptions::job or set ORRERY_JOB");
  // A worker's token says who it is.
  const bool is_worker =
      options.name.empty() && options.token.empty() && !reader.text("ORRERY_WORKER").empty();
  if (!is_worker) out.caller = options.name.empty() ? own_name() : options.name;
  if (!is_worker && !is_driver_name(out.caller))
    reader.note("name: found \"" + out.caller.substr(0, 100) +
                "\", needed 1 to 64 letters, digits, '.', '_' or '-'; choose another one");
  if (std::string why = unfit_access(out.controller); !why.empty()) reader.note(std::move(why));
  reader.check();
  return out;
}

std::optional<Membership> membership_in(std::string_view line) {
  const Value document = Value::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("membership")) return std::nullopt;
  const Value& told = document["membership"];
  if (!told.is_object() || member_number(told, "generation", -1) < 0) return std::nullopt;
  Membership out;
  out.generation = static_cast<std::uint64_t>(member_number(told, "generation", 0));
  out.rank = member_number(told, "rank", -1);
  out.world_size = member_number(told, "world_size", 0);
  if (told.contains("master") && told["master"].is_object()) {
    out.master_address = member_text(told["master"], "address");
    out.master_port = member_number(told["master"], "port", 0);
  }
  if (!told.contains("members") || !told["members"].is_array()) return out;
  for (const Value& each : told["members"]) {
    if (!each.is_object()) return std::nullopt;
    out.members.push_back({member_number(each, "rank", -1),
                           member_text(each, "role"),
                           member_number(each, "local_rank", -1),
                           member_text(each, "node"),
                           member_text(each, "address"),
                           member_number(each, "first_port", 0)});
    const Member& member = out.members.back();
    if (member.rank == out.rank) out.role_rank = member.role_rank;
    if (member.rank == 0 && out.master_address.empty()) {
      out.master_address = member.address;
      out.master_port = member.first_port;
    }
  }
  return out;
}

}  // namespace orrery::sdk::detail
