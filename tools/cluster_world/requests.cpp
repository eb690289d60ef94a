#include "tools/cluster_world/requests.hpp"

#include <poll.h>

#include <utility>

#include "tools/client/stream.hpp"

namespace orrery::cli {
namespace {

constexpr int kAgainAfterMs = 10;

}  // namespace

Requests::Requests(ClientOptions options)
    : options_(std::move(options)), thread_([this] { send_all(); }) {}

Requests::~Requests() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Requests::ask(HttpRequest request) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_back(++last_, std::move(request));
  ++under_way_;
  changed_.notify_all();
  return last_;
}

std::vector<RequestAnswer> Requests::take_answers() {
  const std::lock_guard lock(mutex_);
  under_way_ -= answers_.size();
  return std::exchange(answers_, {});
}

std::size_t Requests::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

// Users ask again where nobody was there to hear them. What a controller may have heard is not said
// twice.
void Requests::await_controller(std::unique_lock<std::mutex>& lock) {
  const Deadline until = std::chrono::steady_clock::now() + options_.timeout;
  while (!closing_ && std::chrono::steady_clock::now() < until) {
    lock.unlock();
    const bool is_there = open_stream(options_.server, options_.tls, until).has_value();
    if (!is_there) ::poll(nullptr, 0, kAgainAfterMs);
    lock.lock();
    if (is_there) return;
  }
}

void Requests::send_all() {
  Client client(options_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    await_controller(lock);
    if (closing_) return;
    const auto [number, request] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto reply = client.send(request);
    lock.lock();
    RequestAnswer answer{number, reply.has_value(), 0, {}};
    if (reply) {
      answer.status = reply->status;
      answer.body = reply->body;
    } else {
      answer.body = reply.errors().front().text();
    }
    answers_.push_back(std::move(answer));
  }
}

}  // namespace orrery::cli
