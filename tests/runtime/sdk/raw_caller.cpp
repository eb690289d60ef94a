#include "tests/runtime/sdk/raw_caller.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/base/invariant.hpp"
#include "runtime/sdk/hashes.hpp"
#include "tests/runtime/workers/child.hpp"

namespace orrery::sdk {

std::string frame_bytes(std::string_view header, std::string_view payload) {
  std::string out;
  for (int i = 4; i-- > 0;) out += static_cast<char>(header.size() >> (8 * i));
  for (int i = 8; i-- > 0;) out += static_cast<char>(std::uint64_t{payload.size()} >> (8 * i));
  return out.append(header).append(payload);
}

RawCaller::RawCaller(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  invariant(
      ::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
      "a worker listens");
}

RawCaller::RawCaller(const Peer& peer, const std::string& caller) : RawCaller(peer.port) {
  const std::optional<Frame> welcome = shake_hands(caller, peer.worker, peer.key);
  invariant(welcome && welcome->header["t"] == "welcome", "a worker welcomes its caller");
}

void RawCaller::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{socket_.number(), POLLOUT, 0};
    if (::poll(&ready, 1, worker::kPatience_ms) <= 0) return;
    const ssize_t sent =
        ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) return;  // The worker has ended the connection; what it said is read.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawCaller::send(const Value& header, std::string_view payload) {
  send_bytes(frame_bytes(header.dump(), payload));
}

std::optional<Frame> RawCaller::receive() {
  while (true) {
    std::span<const std::uint8_t> bytes(unread_);
    const bool complete = reader_.feed(bytes);
    unread_.erase(unread_.begin(), unread_.end() - static_cast<std::ptrdiff_t>(bytes.size()));
    if (complete) return reader_.take();
    pollfd ready{socket_.number(), POLLIN, 0};
    if (::poll(&ready, 1, worker::kPatience_ms) <= 0) return std::nullopt;
    std::uint8_t more[65536];
    const ssize_t got = ::recv(socket_.number(), more, sizeof more, 0);
    if (got <= 0) return std::nullopt;
    unread_.insert(unread_.end(), more, more + got);
  }
}

bool RawCaller::ends() {
  while (true) {
    pollfd ready{socket_.number(), POLLIN, 0};
    if (::poll(&ready, 1, worker::kPatience_ms) <= 0) return false;
    char bytes[65536];
    if (::recv(socket_.number(), bytes, sizeof bytes, 0) <= 0) return true;
  }
}

std::string RawCaller::error_type() {
  while (const std::optional<Frame> frame = receive())
    if (frame->header.contains("error")) return frame->header["error"]["type"].get<std::string>();
  return {};
}

std::optional<Frame> RawCaller::shake_hands(const std::string& caller,
                                            const std::string& to,
                                            const std::string& key) {
  const std::string nonce = random_hex(16);
  send({{"t", "hello"}, {"protocol", 1}, {"caller", caller}, {"to", to}, {"nonce", nonce}});
  std::optional<Frame> challenge = receive();
  if (!challenge || challenge->header["t"] != "challenge") return challenge;
  send({{"t", "proof"},
        {"proof",
         call_proof(
             key, ProofSide::Client, nonce, challenge->header["nonce"].get<std::string>(), "")}});
  return receive();
}

}  // namespace orrery::sdk
