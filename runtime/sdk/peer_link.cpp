#include "runtime/sdk/peer_link.hpp"

#include <algorithm>

#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr Milliseconds kConnectLimit{10'000};
constexpr Milliseconds kHandshakeLimit{10'000};

Milliseconds left_until(SteadyTime time) {
  return std::max(Milliseconds(0),
                  std::chrono::ceil<Milliseconds>(time - std::chrono::steady_clock::now()));
}

std::string call_header(const CallState& call, std::uint64_t id) {
  const CallRequest& request = call.request;
  const CallOptions& options = request.options;
  std::string out = R"({"t":"call","id":)" + std::to_string(id) + R"(,"method":)" +
                    quoted_text(request.method) + R"(,"deadline_ms":)" +
                    std::to_string(left_until(call.deadline).count());
  if (options.generation) out += R"(,"generation":)" + std::to_string(*options.generation);
  if (!options.once.empty()) out += R"(,"once":)" + quoted_text(options.once);
  if (call.attempt > 0) out += R"(,"attempt":)" + std::to_string(call.attempt);
  if (request.stream) out += R"(,"stream":true,"credit":)" + std::to_string(call.first_credit());
  if (options.result_max != kMessageMax)
    out += R"(,"result_max":)" + std::to_string(options.result_max);
  return out + "," + request.values->fields + "}";
}

ErrorFields too_large(const CallState& call, std::uint64_t bytes, std::uint64_t limit) {
  ErrorFields out = error_fields("TooLarge",
                                 call.request.method + ": found " + std::to_string(bytes) +
                                     " bytes of arguments, needed at most " +
                                     std::to_string(limit) + "; send less in one call");
  out.details["bytes"] = bytes;
  out.details["limit"] = limit;
  return out;
}

}  // namespace

PeerLink::PeerLink(Peer peer,
                   std::string caller,
                   std::uint64_t generation,
                   std::function<void(const Broken&)> on_broken)
    : peer_(std::move(peer)),
      caller_(std::move(caller)),
      generation_(generation),
      on_broken_(std::move(on_broken)),
      nonce_(random_hex(16)) {}

void PeerLink::open() {
  const bool is_plain = peer_.certificate.empty();
  if (is_plain && !is_loopback(peer_.address))
    return end(error_fields("NotAuthorised",
                            "worker " + peer_.worker + " at " + peer_.address +
                                ": found no encryption, needed it beyond one machine; let the "
                                "cluster have certificates"));
  ConnectTo to;
  to.host = peer_.address;
  to.port = peer_.port;
  to.limit = kConnectLimit;
  if (!is_plain) {
    to.security = ConnectTo::Security::Pinned;
    to.certificate = peer_.certificate;
  }
  Io::instance().connect(std::move(to), [self = shared_from_this()](Connected connected) {
    self->on_connected(std::move(connected));
  });
}

void PeerLink::on_connected(Connected connected) {
  if (stage_ == Stage::Closed) {
    if (connected.link) connected.link->close();
    return;
  }
  if (!connected.link && connected.refused_identity)
    return end(error_fields("NotAuthorised",
                            "worker " + peer_.worker + ": " + connected.failure +
                                "; see what listens at " + peer_.address));
  if (!connected.link) return end(lost(connected.failure));
  wire_ =
      std::make_shared<Wire>(std::move(connected.link), FrameLimits{kHeaderMaxUnknown, 0, false});
  // The wire holds the link until one of them ends.
  wire_->start(
      [self = shared_from_this()](Frame frame) { self->on_frame(std::move(frame)); },
      [self = shared_from_this()](const WireEnd& why) {
        self->end(why.broke_rule
                      ? error_fields("Protocol", "worker " + self->peer_.worker + ": " + why.why)
                      : self->lost(why.why));
      });
  handshake_timer_ = Io::instance().after(kHandshakeLimit, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->end(self->lost("it did not answer the handshake"));
  });
  wire_->send(R"({"t":"hello","protocol":1,"caller":)" + quoted_text(caller_) + R"(,"to":)" +
              quoted_text(peer_.worker) + R"(,"nonce":")" + nonce_ + "\"}");
}

void PeerLink::on_frame(Frame frame) {
  std::string why;
  std::optional<FromCallee> message = callee_message(std::move(frame), why);
  if (!message) return end(error_fields("Protocol", "worker " + peer_.worker + ": " + why));
  if (const auto* refused = std::get_if<RefusedMessage>(&*message)) return end(refused->error);
  if (stage_ == Stage::Connecting)
    if (const auto* challenge = std::get_if<ChallengeMessage>(&*message))
      return on_challenge(*challenge);
  if (stage_ == Stage::Challenged)
    if (const auto* welcome = std::get_if<WelcomeMessage>(&*message)) return on_welcome(*welcome);
  if (stage_ == Stage::Open) return on_answer(std::move(*message));
  end(error_fields("Protocol", "worker " + peer_.worker + ": found a message out of turn"));
}

void PeerLink::on_challenge(const ChallengeMessage& message) {
  const std::string expected =
      call_proof(peer_.key, ProofSide::Server, nonce_, message.nonce, peer_.certificate);
  if (!equal_secrets(expected, message.proof))
    return end(error_fields("NotAuthorised",
                            "what listens at " + peer_.address + ":" + std::to_string(peer_.port) +
                                " is not worker " + peer_.worker +
                                ": its proof is wrong; see what took the port"));
  stage_ = Stage::Challenged;
  wire_->send(R"({"t":"proof","proof":")" +
              call_proof(peer_.key, ProofSide::Client, nonce_, message.nonce, peer_.certificate) +
              "\"}");
}

void PeerLink::on_welcome(const WelcomeMessage& message) {
  if (message.worker != peer_.worker)
    return end(error_fields("NotAuthorised",
                            "found worker " + message.worker + ", needed " + peer_.worker));
  handshake_timer_.reset();
  stage_ = Stage::Open;
  message_max_ = message.message_max;
  wire_->limit({kHeaderMax, kMessageMax, true});
  send_waiting();
}

void PeerLink::submit(const CallPtr& call) {
  waiting_.push_back(call);
  if (stage_ == Stage::Open) send_waiting();
}

void PeerLink::send_waiting() {
  std::deque<CallPtr> unclaimed;
  while (!waiting_.empty() && stage_ == Stage::Open && sent_.size() < kOpenCallsMax) {
    const CallPtr call = std::move(waiting_.front());
    waiting_.pop_front();
    if (call->is_ready()) continue;
    if (is_claimed(call)) {
      send(call);
    } else {
      unclaimed.push_back(call);
    }
  }
  waiting_.insert(waiting_.begin(), unclaimed.begin(), unclaimed.end());
}

bool PeerLink::is_claimed(const CallPtr& call) {
  const std::string& group = call->request.claim;
  if (group.empty()) return true;
  const auto [at, is_new] = claims_.emplace(group, Claim::Asked);
  if (is_new) ask_claim(group);
  return at->second == Claim::Held;
}

void PeerLink::ask_claim(const std::string& group) {
  CallRequest request;
  request.method = "orrery.claim";
  request.values = write_arguments(Value::array(), {{"group", group}});
  const auto claim = std::make_shared<CallState>(std::move(request));
  send(claim);
  // Its answer is looked at in on_answer, where the claim is known by its method.
}

void PeerLink::send(const CallPtr& call) {
  const WrittenValues& values = *call->request.values;
  if (const std::uint64_t bytes = bytes_in(values.buffers); bytes > message_max_)
    return call->fail(too_large(*call, bytes, message_max_));
  const std::uint64_t id = last_id_ + 1;
  const std::string header = call_header(*call, id);
  std::optional<OutgoingFrame> frame = frame_of(header, values.buffers, call->request.values);
  if (!frame) return call->fail(too_large(*call, header.size(), kHeaderMax));
  last_id_ = id;
  sent_.emplace(id, call);
  const std::weak_ptr<PeerLink> weak = weak_from_this();
  call->on_cancel = [weak, id] {
    if (const auto self = weak.lock()) self->abandon(id);
  };
  call->on_credit = [weak, id](std::uint64_t count) {
    const auto self = weak.lock();
    if (self && self->wire_)
      self->wire_->send(R"({"t":"credit","id":)" + std::to_string(id) + R"(,"count":)" +
                        std::to_string(count) + "}");
  };
  wire_->send(std::move(*frame));
}

/// The caller waits no longer: the worker is told, and what it still answers is dropped.
void PeerLink::abandon(std::uint64_t id) {
  if (sent_.erase(id) == 0 || stage_ != Stage::Open) return;
  wire_->send(R"({"t":"cancel","id":)" + std::to_string(id) + "}");
  send_waiting();
}

void PeerLink::on_item(ItemMessage message) {
  const auto at = sent_.find(message.id);
  if (at == sent_.end()) return;
  const CallPtr call = at->second;
  if (message.skipped > 0) {
    abandon(message.id);
    return call->fail(too_large(*call, message.skipped, kMessageMax));
  }
  if (!call->request.stream || !call->add_item(std::move(message.value)))
    end(error_fields("Protocol",
                     "worker " + peer_.worker + ": found an item that no credit was given for"));
}

void PeerLink::on_answer(FromCallee message) {
  if (auto* item = std::get_if<ItemMessage>(&message)) return on_item(std::move(*item));
  std::uint64_t id = 0;
  if (const auto* result = std::get_if<ResultMessage>(&message)) id = result->id;
  if (const auto* done = std::get_if<EndMessage>(&message)) id = done->id;
  if (const auto* error = std::get_if<ErrorMessage>(&message)) id = error->id;
  if (id == 0 || id > last_id_)
    return end(error_fields("Protocol", "worker " + peer_.worker + ": found an answer to no call"));
  const auto at = sent_.find(id);
  if (at == sent_.end()) return;  // Abandoned.
  const CallPtr call = at->second;
  sent_.erase(at);
  const bool is_claim = call->request.method == "orrery.claim" &&
                        call->request.target.role.empty() && call->request.target.worker.empty();
  if (auto* result = std::get_if<ResultMessage>(&message)) {
    if (result->skipped > 0) {
      call->fail(too_large(*call, result->skipped, kMessageMax));
    } else {
      call->complete(std::move(result->value));
    }
    if (is_claim)
      for (auto& [group, claim] : claims_) claim = Claim::Held;
  } else if (std::holds_alternative<EndMessage>(message)) {
    call->end_stream();
  } else if (auto* error = std::get_if<ErrorMessage>(&message)) {
    if (is_claim) {
      claims_.clear();
      const std::deque<CallPtr> waiting = std::exchange(waiting_, {});
      for (const CallPtr& each : waiting) {
        if (each->request.claim.empty()) {
          waiting_.push_back(each);
        } else {
          each->fail(error->error);
        }
      }
    }
    call->fail(std::move(error->error));
  }
  send_waiting();
}

ErrorFields PeerLink::lost(const std::string& why) const {
  ErrorFields out =
      error_fields("WorkerLost",
                   peer_.role + " " + std::to_string(peer_.role_rank) + " (worker " + peer_.worker +
                       ", rank " + std::to_string(peer_.rank) + "): " + why +
                       "; refresh the group, or call again once it is replaced");
  out.details["rank"] = peer_.rank;
  out.details["role"] = peer_.role;
  out.details["role_rank"] = peer_.role_rank;
  out.details["worker"] = peer_.worker;
  out.details["generation"] = generation_;
  return out;
}

void PeerLink::close() { end(error_fields("Cancelled", "the driver was closed")); }

void PeerLink::end(ErrorFields error) {
  if (stage_ == Stage::Closed) return;
  const auto self = shared_from_this();
  const bool was_open = stage_ == Stage::Open;
  stage_ = Stage::Closed;
  handshake_timer_.reset();
  if (wire_) wire_->close();
  const auto sent = std::exchange(sent_, {});
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& [id, call] : sent) on_broken_({call, error, true, &peer_});
  // A worker that ends a connection in use is lost to those that wait behind, too.
  for (const CallPtr& call : waiting) on_broken_({call, error, was_open, &peer_});
}

}  // namespace orrery::sdk::detail
