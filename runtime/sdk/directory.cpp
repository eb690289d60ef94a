#include "runtime/sdk/directory.hpp"

#include <algorithm>

#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/value_text.hpp"

namespace orrery::sdk {
namespace {

/// As agents make them; users' tokens begin otherwise.
constexpr std::string_view kWorkerToken = "orrery_worker_";

std::string text_in(const Value& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::int64_t number_in(const Value& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : -1;
}

/// What the controller gives as its reason.
std::string reason_in(const HttpAnswer& answer) {
  const Value document = Value::parse(answer.body, nullptr, false);
  if (document.is_object() && document.contains("error") && document["error"].is_object())
    if (std::string message = text_in(document["error"], "message"); !message.empty())
      return message;
  return "HTTP status " + std::to_string(answer.status);
}

DirectoryAnswer answer_of(const DirectoryAccess& access, const HttpAnswer& answer) {
  const auto refused = [&](std::string_view type, const std::string& message, bool again = false) {
    return DirectoryAnswer{
        std::nullopt,
        detail::error_fields(type, "the directory of " + access.job + ": " + message),
        again};
  };
  if (!answer.for_good.empty()) {
    DirectoryAnswer out = refused(answer.for_good, answer.failure);
    out.is_unfit = true;
    return out;
  }
  if (!answer.failure.empty())
    return refused("Timeout", answer.failure + "; see that the controller runs", true);
  if (answer.status == 200) {
    std::string why;
    if (std::optional<PeerList> list = read_peers(answer.body, why))
      return {std::move(list), {}, false};
    return refused("Protocol", why + "; ask a controller of this version");
  }
  const std::string reason = reason_in(answer);
  if (answer.status == 401 || answer.status == 403) {
    const bool is_unknown =
        answer.status == 401 && access.controller.token.starts_with(kWorkerToken);
    DirectoryAnswer out =
        refused("NotAuthorised", reason + "; show a token that may read this job", is_unknown);
    out.is_unknown = is_unknown;
    return out;
  }
  if (answer.status == 404) return refused("NoSuchWorker", reason + "; name a job that there is");
  if (answer.status == 503 || answer.status == 408 || answer.status == 307)
    return refused("Timeout", reason + "; see that the controller leads", true);
  return refused("Protocol", reason + "; ask a controller of this version");
}

}  // namespace

const Peer* PeerList::find(std::string_view worker) const {
  const auto at = std::ranges::find(peers, worker, &Peer::worker);
  return at == peers.end() ? nullptr : &*at;
}

const Peer* PeerList::find(std::string_view role, std::int64_t role_rank) const {
  for (const Peer& peer : peers)
    if (peer.role == role && peer.role_rank == role_rank) return &peer;
  return nullptr;
}

std::vector<Peer> PeerList::of_role(std::string_view role) const {
  std::vector<Peer> out;
  for (const Peer& peer : peers)
    if (peer.role == role) out.push_back(peer);
  std::ranges::sort(out, {}, &Peer::role_rank);
  return out;
}

bool PeerList::may_grow() const {
  return phase == "Pending" || phase == "Starting" || phase == "Rescheduling" ||
         phase == "Restarting" || phase == "Unknown";
}

std::optional<PeerList> read_peers(const std::string& body, std::string& why) {
  const Value document = Value::parse(body, nullptr, false);
  if (!document.is_object() || !document.contains("peers") || !document["peers"].is_array()) {
    why = "found an answer without peers, needed a list of them";
    return std::nullopt;
  }
  PeerList out;
  out.job = text_in(document, "job");
  out.generation =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_in(document, "generation")));
  out.phase = text_in(document, "phase");
  out.caller = text_in(document, "caller");
  for (const Value& each : document["peers"]) {
    Peer peer;
    if (each.is_object()) {
      peer = {text_in(each, "worker"),
              text_in(each, "role"),
              number_in(each, "rank"),
              number_in(each, "role_rank"),
              text_in(each, "node"),
              text_in(each, "address"),
              0,
              text_in(each, "certificate"),
              {}};
      const std::int64_t port = number_in(each, "port");
      if (port > 0 && port <= 65535) peer.port = static_cast<std::uint16_t>(port);
      peer.key = from_hex(text_in(each, "key")).value_or("");
    }
    if (peer.worker.empty() || peer.role.empty() || peer.role_rank < 0) {
      why = "found a peer without worker, role or role_rank, needed all of them";
      return std::nullopt;
    }
    out.peers.push_back(std::move(peer));
  }
  return out;
}

void ask_directory(const DirectoryAccess& access,
                   Milliseconds limit,
                   std::function<void(DirectoryAnswer)> done) {
  HttpAsk ask;
  ask.target = "/api/v1/jobs/" + url_part(access.job) + "/peers";
  if (!access.caller.empty()) ask.target += "?caller=" + url_part(access.caller);
  ask.limit = limit;
  ask_controller(access.controller,
                 std::move(ask),
                 [access, done = std::move(done)](const HttpAnswer& answer) {
                   done(answer_of(access, answer));
                 });
}

}  // namespace orrery::sdk
