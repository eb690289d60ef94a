#include "runtime/http/peers_api.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/hex.hpp"
#include "core/base/invariant.hpp"
#include "core/record/record_text.hpp"
#include "runtime/http/job_json.hpp"
#include "runtime/http/profilings.hpp"

namespace orrery::http {
namespace {

using runtime::CallEndpoint;
using runtime::ControlView;
using Then = ControlClient::Then;

constexpr std::size_t kNameMax = 64;

/// One worker, and where it takes calls once it has said so.
struct Peer {
  std::string worker;
  std::string role;
  Rank rank;
  std::int32_t role_rank = 0;
  std::string node;
  std::string address;
  std::optional<CallEndpoint> endpoint;
};

std::vector<Peer> peers_of(const ControlView& view, const JobState& job) {
  std::vector<Peer> out;
  const std::vector<Member> members = members_of(view, job);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!job.workers[i].is_alive()) continue;
    const Member& member = members[i];
    const WorkerName name{job.row.id, member.incarnation, member.birth_rank};
    Peer& peer = out.emplace_back();
    peer.worker = worker_text(name);
    peer.role = member.role;
    peer.rank = member.rank;
    peer.role_rank = member.local_rank;
    peer.node = member.node;
    peer.address = member.address;
    const CallEndpoint* endpoint = view.tokens == nullptr ? nullptr : view.tokens->endpoint(name);
    if (endpoint != nullptr) peer.endpoint = *endpoint;
  }
  return out;
}

std::string peers_json(const Membership& membership,
                       const std::vector<Peer>& peers,
                       const std::string& caller) {
  JsonText json;
  json.begin_object().field("job", membership.job);
  json.field("generation", membership.generation.value);
  json.field("phase", to_string(membership.phase)).field("caller", caller);
  json.key("peers").begin_array();
  for (const Peer& peer : peers) {
    json.begin_object().field("worker", peer.worker).field("role", peer.role);
    json.field("rank", peer.rank.value).field("role_rank", peer.role_rank);
    json.field("node", peer.node).field("address", peer.address);
    json.field("port", peer.endpoint ? peer.endpoint->port : 0);
    json.field("certificate", peer.endpoint ? peer.endpoint->certificate : std::string());
    json.field("key", peer.endpoint ? call_key(peer.endpoint->token, caller) : std::string());
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

bool is_caller_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

/// What the caller is known as: a worker by its token, anything else as a driver of the name that
/// it chooses. Empty, and answered, where the name is none.
std::string caller_of(const CallPtr& call) {
  const std::optional<std::string> chosen = call->query.take("caller");
  if (!query_is_sound(call, "caller")) return {};
  if (call->identity.role == Role::Worker) {
    std::string own(call->request.header(kWorkerHeader));
    if (!chosen || *chosen == own) return own;
    fail(call,
         403,
         "caller=" + *chosen + " is not this token's worker, which is " + own + "; leave it out");
    return {};
  }
  const std::string name = chosen.value_or(call->identity.name);
  if (is_caller_name(name)) return "driver:" + name;
  fail(call,
       400,
       "caller '" + name.substr(0, kNameMax) +
           "' is no name of 1 to 64 letters, digits and . _ -; give one with ?caller=NAME");
  return {};
}

void peers(const CallPtr& call, const ControlClient& client) {
  const std::string caller = caller_of(call);
  if (caller.empty()) return;
  client.look_at_job(
      call, call->value("job"), [call, caller](const ControlView& view, const JobState& job) {
        return Then(
            [call, caller, membership = membership_of(view, job), found = peers_of(view, job)] {
              call->exchange->respond(json_response(peers_json(membership, found, caller)));
            });
      });
}

}  // namespace

std::string call_key(std::string_view token, std::string_view caller) {
  const std::string text = "orrery-call/1 " + std::string(caller);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(),
                                   token.data(),
                                   static_cast<int>(token.size()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   text.size(),
                                   digest.data(),
                                   &size);
  invariant(made != nullptr, "SHA-256 is there");
  return hex_of({digest.data(), size});
}

void add_peers_api(Router& router, const ControlClient& client) {
  router.add_for_workers("GET", "/api/v1/jobs/{job}/peers", Role::User, [=](const CallPtr& call) {
    peers(call, client);
  });
}

}  // namespace orrery::http
