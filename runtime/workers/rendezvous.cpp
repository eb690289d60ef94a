#include "runtime/workers/rendezvous.hpp"

#include <array>
#include <utility>

#include "core/base/bytes.hpp"

namespace orrery::worker {
namespace {

constexpr std::size_t kFrameMax = 64 * 1024 + 512;
// Rank 0 may have been replaced a moment ago: its successor opens the same port soon.
constexpr Milliseconds kRejoin{20};
constexpr std::string_view kPeer = "rank 0's meeting place";

Outcome send_frame(const Descriptor& socket, std::string_view body, const Limits& limits) {
  if (body.size() > kFrameMax)
    return Outcome::fatal("a value of " + std::to_string(body.size()) +
                          " bytes is too long for the meeting place");
  std::string frame(4, '\0');
  store_little_endian(frame.data(), static_cast<std::uint32_t>(body.size()));
  frame += body;
  return send_all(socket, std::as_bytes(std::span(frame)), limits, kPeer);
}

Outcome receive_frame(const Descriptor& socket, const Limits& limits, std::string& body) {
  std::array<std::byte, 4> head{};
  Outcome got = receive_all(socket, head, limits, kPeer);
  if (!got.ok()) return got;
  const auto size = load_little_endian<std::uint32_t>(head.data());
  if (size == 0 || size > kFrameMax)
    return Outcome::peer_lost(std::string(kPeer) + ": answers in another protocol");
  body.resize(size);
  return receive_all(socket, std::as_writable_bytes(std::span(body)), limits, kPeer);
}

/// One try to join. Done with an empty `out`: refused for now, `reason` says why.
Outcome try_to_join(const Meeting& meeting,
                    const Limits& limits,
                    Descriptor& out,
                    std::string& reason) {
  Descriptor socket;
  Outcome step = connect_to(meeting.place, limits, socket);
  if (!step.ok()) return step;
  const std::string hello =
      "H" + meeting.job + std::string(1, '\0') + std::to_string(meeting.generation);
  std::string answer;
  step = send_frame(socket, hello, limits);
  if (step.ok()) step = receive_frame(socket, limits, answer);
  if (step.kind == OutcomeKind::PeerLost) {
    reason = step.reason;
    return Outcome::done();
  }
  if (!step.ok()) return step;
  if (answer == "Y")
    out = std::move(socket);
  else
    reason = answer.substr(1);
  return Outcome::done();
}

}  // namespace

Outcome Rendezvous::join(const Meeting& meeting,
                         const Limits& limits,
                         std::unique_ptr<Rendezvous>& out) {
  Descriptor socket;
  std::string reason;
  for (;;) {
    Outcome tried = try_to_join(meeting, limits, socket, reason);
    if (!tried.ok()) {
      if (!reason.empty() && tried.kind != OutcomeKind::Cancelled)
        tried.reason += " (" + reason + ")";
      return tried;
    }
    if (socket.is_open()) break;
    Outcome waited = wait_time(kRejoin, limits, meeting.place.text() + ": " + reason);
    if (!waited.ok()) return waited;
  }
  Result<Endpoint> own = local_end(socket);
  if (!own) return Outcome::fatal(own.errors().front().text());
  out.reset(new Rendezvous(std::move(socket), own->address, limits));
  return Outcome::done();
}

Outcome Rendezvous::set(std::string_view key, std::string_view value) {
  std::string body = "S";
  body.append(key).append(1, '\0').append(value);
  return send_frame(socket_, body, limits_);
}

Outcome Rendezvous::get(std::string_view key, std::string& out) {
  Outcome step = send_frame(socket_, "G" + std::string(key), limits_);
  if (step.ok()) step = receive_frame(socket_, limits_, out);
  if (!step.ok()) {
    if (step.kind != OutcomeKind::Cancelled)
      step.reason += ", waiting for \"" + std::string(key) + "\"";
    return step;
  }
  if (out.front() != 'V')
    return Outcome::peer_lost(std::string(kPeer) + ": answers in another protocol");
  out.erase(0, 1);
  return Outcome::done();
}

}  // namespace orrery::worker
