#include "runtime/agent/worker_socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_text.hpp"
#include "runtime/agent/worker_record.hpp"

namespace orrery::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLineBytesMax = 64 << 10;
constexpr std::size_t kWaitingBytesMax = 4 << 20;
constexpr std::size_t kConnectionsMax = 4096;
constexpr std::size_t kKeysMax = 64;
constexpr int kTurnsMax = 64;  // Of a connection that is read to its end.
constexpr std::size_t kKeyBytesMax = 128;

/// Collects what is wrong with a line, or what it says.
struct Parsed {
  std::string error;
  std::optional<WorkerName> hello;
  std::string token;  ///< With hello.
  decltype(WorkerWord::word) word;
};

/// Takes as long for every wrong secret of the right length. A worker that an agent without secrets
/// has started has none.
bool is_same_secret(std::string_view found, std::string_view needed) {
  if (found.size() != needed.size()) return needed.empty();
  unsigned char difference = 0;
  for (std::size_t i = 0; i < needed.size(); ++i)
    difference = static_cast<unsigned char>(difference | (static_cast<unsigned char>(found[i]) ^
                                                          static_cast<unsigned char>(needed[i])));
  return difference == 0;
}

bool is_number(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_number() &&
         std::isfinite(object[key].get<double>());
}

double number_or(const Json& object, const char* key, double otherwise) {
  return is_number(object, key) ? object[key].get<double>() : otherwise;
}

void parse_hello(const Json& body, Parsed& out) {
  if (body.contains("worker") && body["worker"].is_string())
    out.hello = worker_named(body["worker"].get<std::string>());
  if (body.contains("token") && body["token"].is_string())
    out.token = body["token"].get<std::string>();
  if (!out.hello) out.error = "hello: needed a worker, \"JOB-INCARNATION-RANK\" of ORRERY_WORKER";
}

void parse_profiling(const Json& body, Parsed& out) {
  SaidProfiling word;
  if (body.size() > kKeysMax) out.error = "profiling: more than 64 keys";
  for (const auto& [key, value] : body.items()) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || key.size() > kKeyBytesMax)
      out.error = "profiling: a value is no finite number, or its key too long";
    else
      word.values[key] = value.get<double>();
  }
  out.word = std::move(word);
}

void parse_progress(const Json& body, Parsed& out) {
  if (!is_number(body, "done")) out.error = "progress: needed a number \"done\"";
  SaidProgress word;
  word.done = number_or(body, "done", 0);
  word.rate = number_or(body, "rate", 0);
  word.efficiency = number_or(body, "efficiency", 1);
  word.epoch = static_cast<std::int32_t>(std::clamp(number_or(body, "epoch", 0), 0.0, 2e9));
  if (is_number(body, "remaining_s")) word.remaining_s = body["remaining_s"].get<double>();
  word.checkpointed = body.contains("checkpointed") && body["checkpointed"].is_boolean() &&
                      body["checkpointed"].get<bool>();
  if (word.done < 0 || word.rate < 0 || word.efficiency <= 0 || word.efficiency > 1)
    out.error = "progress: done and rate are at least 0, efficiency above 0 and at most 1";
  out.word = word;
}

void parse_sub_master(const Json& body, Parsed& out) {
  SaidBySubMaster word;
  std::optional<SubMasterMessage> said;
  if (body.contains("role") && body["role"].is_string()) word.role = body["role"];
  if (body.contains("word") && body["word"].is_string())
    said = enum_from<SubMasterMessage>(body["word"].get<std::string>());
  if (!said || word.role.empty() || !body.contains("incident") ||
      !body["incident"].is_number_unsigned() ||
      body["incident"].get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    out.error =
        "sub_master: needed a role, an incident and a word: " + enum_choices<SubMasterMessage>();
    return;
  }
  word.incident = body["incident"].get<std::uint32_t>();
  word.word = *said;
  out.word = std::move(word);
}

void parse_endpoint(const Json& body, Parsed& out) {
  SaidEndpoint word;
  if (body.contains("port") && body["port"].is_number_unsigned() &&
      body["port"].get<std::uint64_t>() <= std::numeric_limits<std::uint16_t>::max())
    word.port = body["port"].get<std::int32_t>();
  const bool named = body.contains("certificate");
  if (named && body["certificate"].is_string()) word.certificate = body["certificate"];
  const bool is_digest =
      word.certificate.size() == 64 &&
      word.certificate.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (word.port == 0 || (named && !body["certificate"].is_string()) ||
      !(word.certificate.empty() || is_digest))
    out.error =
        "endpoint: needed a port from 1 to 65535 and, where it is encrypted, a certificate: the 64 "
        "hexadecimal digits of the SHA-256 of what is shown there";
  out.word = std::move(word);
}

void parse_turn(const Json& body, Parsed& out) {
  SaidTurn word;
  std::optional<TurnWord> said;
  if (body.contains("word") && body["word"].is_string())
    said = enum_from<TurnWord>(body["word"].get<std::string>());
  const double lease = number_or(body, "lease_s", 30);
  if (!said || lease < 1 || lease > 3600)
    out.error = "turn: needed a word (" + enum_choices<TurnWord>() +
                ") and, where lease_s is given, 1 to 3600 seconds";
  word.word = said.value_or(TurnWord::Ask);
  word.lease = Duration::from_seconds(std::clamp(lease, 1.0, 3600.0));
  out.word = word;
}

/// One line of text; a character that controls a terminal is a space.
std::string message_of(std::string_view text) {
  std::string out(cut_at_character(text, kDiagnosisTextMax));
  for (char& each : out)
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) each = ' ';
  return out;
}

void parse_diagnosis(const Json& body, Parsed& out) {
  SaidDiagnosis word;
  std::optional<Blame> fault;
  if (body.contains("fault") && body["fault"].is_string())
    fault = enum_from<Blame>(body["fault"].get<std::string>());
  if (!fault || *fault == Blame::None) {
    out.error = "diagnosis: needed a fault: mine, node or peer";
    return;
  }
  word.fault = *fault;
  const bool is_rank =
      body.contains("rank") && body["rank"].is_number_unsigned() &&
      body["rank"].get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max();
  if (body.contains("role") && body["role"].is_string()) word.role = body["role"];
  if (word.fault == Blame::Peer && (word.role.empty() || !is_rank))
    out.error = "diagnosis: needed with fault peer a role, and a rank inside it from 0 on";
  if (word.fault != Blame::Peer && (body.contains("role") || body.contains("rank")))
    out.error = "diagnosis: role and rank stand with fault peer alone";
  if (is_rank) word.rank = body["rank"].get<std::int32_t>();
  if (body.contains("message") && !body["message"].is_string())
    out.error = "diagnosis: its message is no text";
  else if (body.contains("message"))
    word.message = message_of(body["message"].get_ref<const std::string&>());
  out.word = std::move(word);
}

Parsed parse(std::string_view line) {
  Parsed out;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || json.size() != 1 || !json.begin()->is_object()) {
    out.error =
        "needed one JSON object on a line, with one of hello, profiling, progress, sub_master, "
        "endpoint, turn, diagnosis";
    return out;
  }
  const std::string& verb = json.begin().key();
  const Json& body = *json.begin();
  if (verb == "hello")
    parse_hello(body, out);
  else if (verb == "profiling")
    parse_profiling(body, out);
  else if (verb == "progress")
    parse_progress(body, out);
  else if (verb == "sub_master")
    parse_sub_master(body, out);
  else if (verb == "endpoint")
    parse_endpoint(body, out);
  else if (verb == "turn")
    parse_turn(body, out);
  else if (verb == "diagnosis")
    parse_diagnosis(body, out);
  else
    out.error = verb.substr(0, kKeyBytesMax) +
                ": needed hello, profiling, progress, sub_master, endpoint, turn or diagnosis";
  return out;
}

std::string error_line(const std::string& what) {
  JsonText json;
  json.begin_object().field("error", what).end_object();
  return json.take();
}

}  // namespace

Result<WorkerSocket> WorkerSocket::open(const std::string& path, std::optional<uid_t> user) {
  const auto refused = [&](const std::string& message) {
    return Error{ErrorCode::Unavailable, {}, 0, path, message};
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return refused("its path is too long for a socket, which may have " +
                   std::to_string(sizeof address.sun_path - 1) +
                   " bytes; choose a shorter state folder");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  WorkerSocket out;
  out.user_ = user;
  out.listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  if (!out.listener_.is_open() ||
      bind(out.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), user ? 0666 : 0600) != 0 || listen(out.listener_.get(), 128) != 0)
    return refused(std::string("it cannot be listened at: ") + std::strerror(errno));
  return out;
}

void WorkerSocket::append_descriptors(std::vector<pollfd>& polled) const {
  polled.push_back({listener_.get(), POLLIN, 0});
  for (const Connection& each : connections_)
    polled.push_back({each.descriptor.get(),
                      static_cast<short>(each.out.empty() ? POLLIN : POLLIN | POLLOUT),
                      0});
}

void WorkerSocket::accept_all() {
  while (true) {
    Descriptor descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!descriptor.is_open()) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    const bool known = peer.uid == 0 || peer.uid == geteuid() || peer.uid == user_;
    if (!known || connections_.size() >= kConnectionsMax) continue;
    connections_.push_back({std::move(descriptor), {}, {}, std::nullopt, false});
  }
}

// Whether more may be there.
bool WorkerSocket::read_from(Connection& connection) {
  char block[1 << 14];
  while (connection.in.size() <= kLineBytesMax) {
    const ssize_t count = recv(connection.descriptor.get(), block, sizeof block, 0);
    if (count > 0) {
      connection.in.append(block, static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) connection.over = true;
    return false;
  }
  return true;
}

std::vector<WorkerWord> WorkerSocket::take(const std::vector<int>& readable,
                                           const SecretOf& secret_of) {
  std::vector<WorkerWord> words;
  if (std::ranges::binary_search(readable, listener_.get())) accept_all();
  for (Connection& each : connections_)
    if (std::ranges::binary_search(readable, each.descriptor.get()))
      take_from(each, secret_of, words);
  drop_over();
  return words;
}

std::vector<WorkerWord> WorkerSocket::take_all(const SecretOf& secret_of) {
  std::vector<WorkerWord> words;
  accept_all();
  for (Connection& each : connections_)
    for (int turn = 0; turn < kTurnsMax && take_from(each, secret_of, words) && !each.over; ++turn)
      continue;
  drop_over();
  return words;
}

// Whether more may be there.
bool WorkerSocket::take_from(Connection& connection,
                             const SecretOf& secret_of,
                             std::vector<WorkerWord>& words) {
  flush(connection);
  const bool more = read_from(connection);
  std::size_t begin = 0;
  for (std::size_t end = connection.in.find('\n'); end != std::string::npos;
       end = connection.in.find('\n', begin)) {
    if (end - begin > kLineBytesMax) break;
    take_line(
        connection, std::string_view(connection.in).substr(begin, end - begin), secret_of, words);
    begin = end + 1;
  }
  connection.in.erase(0, begin);
  if (connection.in.size() > kLineBytesMax) {
    put(connection, error_line("a line is longer than 64 KiB"));
    connection.over = true;
  }
  return more;
}

void WorkerSocket::drop_over() {
  connections_.remove_if([](const Connection& each) { return each.over; });
}

void WorkerSocket::take_line(Connection& connection,
                             std::string_view line,
                             const SecretOf& secret_of,
                             std::vector<WorkerWord>& words) {
  Parsed parsed = parse(line);
  if (parsed.error.empty() && parsed.hello) {
    connection.worker = parsed.hello;
  } else if (parsed.error.empty() && !connection.worker) {
    parsed.error = "needed hello first";
  }
  if (parsed.error.empty()) {
    const std::string* secret = secret_of(*connection.worker);
    if (secret == nullptr)
      parsed.error = "no worker of this name runs here";
    else if (parsed.hello && !is_same_secret(parsed.token, *secret))
      parsed.error = "hello: needed the worker's own \"token\", which is in its ORRERY_TOKEN";
    if (!parsed.error.empty()) connection.worker.reset();
  }
  if (!parsed.error.empty()) return put(connection, error_line(parsed.error));
  words.push_back({*connection.worker, std::move(parsed.word)});
}

bool WorkerSocket::send(const WorkerName& worker, std::string_view line) {
  bool sent = false;
  for (Connection& each : connections_) {
    if (each.worker != worker || each.over) continue;
    put(each, line);
    sent = true;
  }
  return sent;
}

void WorkerSocket::complain(const WorkerName& worker, const std::string& what) {
  send(worker, error_line(what));
}

void WorkerSocket::put(Connection& connection, std::string_view line) {
  connection.out.append(line).append("\n");
  flush(connection);
  if (connection.out.size() > kWaitingBytesMax) connection.over = true;
}

void WorkerSocket::flush(Connection& connection) {
  while (!connection.out.empty()) {
    const ssize_t count = ::send(
        connection.descriptor.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      if (errno != EAGAIN) connection.over = true;
      return;
    }
    connection.out.erase(0, static_cast<std::size_t>(count));
  }
}

}  // namespace orrery::runtime
