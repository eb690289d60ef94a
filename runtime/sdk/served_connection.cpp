#include "runtime/sdk/served_connection.hpp"

#include <algorithm>

#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr Milliseconds kHelloLimit{10'000};

bool is_nonce(const std::string& text) { return text.size() == 32 && from_hex(text).has_value(); }

/// A worker's name, or "driver:NAME".
bool is_caller_name(std::string_view name) {
  if (name.starts_with("driver:")) name.remove_prefix(7);
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string error_header(std::string_view begin, const ErrorFields& error) {
  return std::string(begin) + R"("error":)" +
         error_value(error).dump(-1, ' ', false, Value::error_handler_t::replace) + "}";
}

/// A message about an id with values; nothing where its header is too long.
std::optional<OutgoingFrame> values_frame(const char* type,
                                          std::uint64_t id,
                                          const std::shared_ptr<const WrittenValues>& values) {
  return frame_of(std::string(R"({"t":")") + type + R"(","id":)" + std::to_string(id) + "," +
                      values->fields + "}",
                  values->buffers,
                  values);
}

ErrorFields text_too_large(std::uint64_t bytes) {
  ErrorFields out = error_fields("TooLarge",
                                 "found an answer with " + std::to_string(bytes) +
                                     " bytes of text, needed at most " +
                                     std::to_string(kHeaderMax) + "; answer with buffers");
  out.details["bytes"] = bytes;
  out.details["limit"] = kHeaderMax;
  return out;
}

}  // namespace

ServedConnection::ServedConnection(std::shared_ptr<Link> link, ConnectionHost& host)
    : host_(&host),
      wire_(std::make_shared<Wire>(std::move(link), FrameLimits{kHeaderMaxUnknown, 0, false})),
      nonce_(random_hex(16)) {}

void ServedConnection::start() {
  handshake_timer_ = Io::instance().after(kHelloLimit, [weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->refuse(error_fields(
          "NotAuthorised", "found no proof within 10 s, needed hello and proof; connect again"));
  });
  wire_->start([self = shared_from_this()](Frame frame) { self->on_frame(std::move(frame)); },
               [self = shared_from_this()](const WireEnd& end) {
                 if (end.broke_rule) return self->break_rule(end.why);
                 self->forget();
               });
}

void ServedConnection::on_frame(Frame frame) {
  if (stage_ == Stage::Closed) return;
  std::string why;
  std::optional<FromCaller> message = caller_message(std::move(frame), why);
  if (!message) return break_rule(why);
  if (stage_ == Stage::Known) {
    if (auto* call = std::get_if<CallMessage>(&*message)) return on_call(std::move(*call));
    if (const auto* cancel = std::get_if<CancelMessage>(&*message)) return on_cancel(cancel->id);
    if (const auto* credit = std::get_if<CreditMessage>(&*message)) {
      if (const auto at = open_.find(credit->id); at != open_.end())
        at->second->add_credit(credit->count);
      return;
    }
  }
  if (stage_ == Stage::Hello)
    if (const auto* hello = std::get_if<HelloMessage>(&*message)) return on_hello(*hello);
  if (stage_ == Stage::Proof)
    if (const auto* proof = std::get_if<ProofMessage>(&*message)) return on_proof(*proof);
  break_rule("found a message out of turn");
}

void ServedConnection::on_hello(const HelloMessage& message) {
  const CalleeIdentity& me = host_->identity();
  if (message.protocol != 1)
    return refuse(error_fields("Protocol",
                               "found protocol " + std::to_string(message.protocol) +
                                   ", needed 1; use SDKs of one version"));
  if (!is_nonce(message.nonce) || !is_caller_name(message.caller))
    return refuse(error_fields("Protocol",
                               "found a hello without a caller's name or a nonce of 32 hexadecimal "
                               "digits, needed both"));
  if (message.to != me.worker)
    return refuse(error_fields("NotAuthorised",
                               "found a call for worker " + message.to + ", this one is " +
                                   me.worker + "; ask the directory again"));
  claimed_ = message.caller;
  caller_nonce_ = message.nonce;
  stage_ = Stage::Proof;
  wire_->send(
      R"({"t":"challenge","nonce":")" + nonce_ + R"(","proof":")" +
      call_proof(
          call_key(me.token, claimed_), ProofSide::Server, caller_nonce_, nonce_, me.certificate) +
      "\"}");
}

void ServedConnection::on_proof(const ProofMessage& message) {
  const CalleeIdentity& me = host_->identity();
  const std::string expected = call_proof(
      call_key(me.token, claimed_), ProofSide::Client, caller_nonce_, nonce_, me.certificate);
  if (!equal_secrets(expected, message.proof))
    return refuse(error_fields("NotAuthorised",
                               "found a wrong proof of " + claimed_ +
                                   ", needed that of its key; ask the directory for the key"));
  handshake_timer_.reset();
  caller_ = claimed_;
  stage_ = Stage::Known;
  wire_->limit({kHeaderMax, me.message_max, true});
  Value welcome = host_->present();
  welcome["t"] = "welcome";
  welcome["worker"] = me.worker;
  welcome["role"] = me.role;
  welcome["message_max"] = me.message_max;
  wire_->send(welcome.dump(-1, ' ', false, Value::error_handler_t::replace));
}

void ServedConnection::on_call(CallMessage message) {
  if (message.id != last_id_ + 1)
    return break_rule("found call " + std::to_string(message.id) + " after call " +
                      std::to_string(last_id_) + ", needed ids that count up from 1");
  last_id_ = message.id;
  if (open_.size() >= kOpenCallsMax)
    return break_rule("found more than " + std::to_string(kOpenCallsMax) + " open calls");
  const auto call = std::make_shared<ServedCall>(std::move(message), caller_, weak_from_this());
  open_.emplace(last_id_, call);
  host_->on_call(call);
}

void ServedConnection::on_cancel(std::uint64_t id) {
  const auto at = open_.find(id);
  if (at == open_.end()) return host_->on_late_cancel(*this, id);
  const ServedCallPtr call = at->second;
  answer(id, error_fields("Cancelled", call->message.method + ": its caller cancelled it"));
  call->abandon();
}

void ServedConnection::answer(std::uint64_t id, const Outcome& outcome) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  at->second->is_over = true;
  at->second->timer.reset();
  open_.erase(at);
  const std::string of_id = R"("id":)" + std::to_string(id);
  if (const auto* values = std::get_if<std::shared_ptr<const WrittenValues>>(&outcome)) {
    if (std::optional<OutgoingFrame> frame = values_frame("result", id, *values))
      return wire_->send(std::move(*frame));
    return wire_->send(
        error_header(R"({"t":"error",)" + of_id + ",", text_too_large((*values)->fields.size())));
  }
  if (const auto* error = std::get_if<ErrorFields>(&outcome))
    return wire_->send(error_header(R"({"t":"error",)" + of_id + ",", *error));
  wire_->send(R"({"t":"end",)" + of_id + "}");
}

void ServedConnection::item(std::uint64_t id, const std::shared_ptr<const WrittenValues>& values) {
  const auto at = open_.find(id);
  if (at == open_.end()) return;
  if (std::optional<OutgoingFrame> frame = values_frame("item", id, values))
    return wire_->send(std::move(*frame));
  const ServedCallPtr call = at->second;
  answer(id, text_too_large(values->fields.size()));
  call->abandon();
}

void ServedConnection::break_rule(const std::string& why) {
  refuse(error_fields("Protocol", why + "; both sides must keep docs/calls.md"));
}

void ServedConnection::refuse(const ErrorFields& error) {
  if (stage_ == Stage::Closed) return;
  wire_->send(error_header(R"({"t":"refused",)", error));
  wire_->close_after_sending();
  forget();
}

void ServedConnection::close() {
  if (stage_ == Stage::Closed) return;
  wire_->close();
  forget();
}

void ServedConnection::close_gently(std::shared_ptr<void> token) {
  if (stage_ == Stage::Closed) return;
  wire_->hold(std::move(token));
  wire_->close_after_sending();
  forget();
}

/// The caller is there no more.
void ServedConnection::forget() {
  if (stage_ == Stage::Closed) return;
  const auto self = shared_from_this();
  stage_ = Stage::Closed;
  handshake_timer_.reset();
  for (const auto& [id, call] : std::exchange(open_, {})) {
    call->is_over = true;
    call->timer.reset();
    call->abandon();
  }
  host_->on_end(*this);
}

}  // namespace orrery::sdk::detail
