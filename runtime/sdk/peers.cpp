#include "runtime/sdk/peers.hpp"

#include <algorithm>
#include <future>

#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr Milliseconds kAskLimit{10'000};
constexpr Milliseconds kListAge{2000};
constexpr Milliseconds kPauseMin{20};
constexpr Milliseconds kPauseMax{1000};
// A worker's token is unknown for a moment after a change of controllers, until its node is back.
constexpr Milliseconds kTokenUnknownMax{30'000};

ErrorFields timed_out(const CallState& call) {
  return error_fields("Timeout",
                      call.request.method + " by " + call.request.target.text() +
                          ": found no answer within " +
                          std::to_string(call.request.options.deadline.count()) +
                          " ms; give it a longer deadline, or see what the worker does");
}

ErrorFields no_such_worker(const CallState& call, const PeerList& list) {
  const CallTarget& target = call.request.target;
  if (!target.worker.empty()) {
    // One that was known: it is gone.
    ErrorFields out = error_fields("WorkerLost",
                                   "worker " + target.worker +
                                       ": the directory has it no more; refresh the group, or "
                                       "call again once it is replaced");
    out.details["rank"] = target.rank;
    out.details["role"] = target.role;
    if (target.role_rank >= 0) out.details["role_rank"] = target.role_rank;
    out.details["worker"] = target.worker;
    out.details["generation"] = list.generation;
    return out;
  }
  return error_fields("NoSuchWorker",
                      "job " + list.job + " in generation " + std::to_string(list.generation) +
                          ": found no " + call.request.target.text() + " among " +
                          std::to_string(list.peers.size()) +
                          " workers; name a role and rank that the job has");
}

const Peer* target_in(const PeerList& list, const CallTarget& target) {
  return target.worker.empty() ? list.find(target.role, target.role_rank)
                               : list.find(target.worker);
}

}  // namespace

void Peers::submit(const CallPtr& call) {
  Io::instance().perform([self = shared_from_this(), call] {
    if (call->is_ready()) return;
    if (self->closed_)
      return call->fail(error_fields("Cancelled", "the driver was closed; make another one"));
    const auto left =
        std::chrono::ceil<Milliseconds>(call->deadline - std::chrono::steady_clock::now());
    call->timer =
        Io::instance().after(std::max(Milliseconds(0), left), [weak = std::weak_ptr(call)] {
          const CallPtr late = weak.lock();
          if (!late || late->is_ready()) return;
          const std::function<void()> tell = late->on_cancel;
          late->fail(timed_out(*late));
          if (tell) tell();
        });
    self->route(call);
  });
}

void Peers::route(const CallPtr& call) {
  if (call->is_ready()) return;
  if (closed_) return call->fail(error_fields("Cancelled", "the driver was closed"));
  const Peer* peer = list_ ? target_in(*list_, call->request.target) : nullptr;
  if (peer == nullptr || !peer->listens()) {
    if (!call->is_fresh) return route_by_new_list(call);
    if (peer == nullptr && !list_->may_grow()) return call->fail(no_such_worker(*call, *list_));
    return try_later(call);
  }
  // Ranks may have moved since: the next calls will know.
  if (asking_.empty() && std::chrono::steady_clock::now() - listed_at_ > kListAge)
    ask(kAskLimit, [](const DirectoryAnswer&) {});
  link_to(*peer)->submit(call);
}

void Peers::route_by_new_list(const CallPtr& call) {
  ask(kAskLimit, [self = shared_from_this(), call](const DirectoryAnswer& answer) {
    if (!answer.list && answer.may_try_again) return self->try_later(call);
    if (!answer.list) return call->fail(answer.error);
    call->is_fresh = true;
    self->route(call);
  });
}

/// The worker is not there yet: asks again after a pause, until the call's deadline.
void Peers::try_later(const CallPtr& call) {
  call->is_fresh = false;
  const Milliseconds pause = std::min(kPauseMax, kPauseMin * (1 << std::min(call->tries++, 6)));
  const auto timer = std::make_shared<Io::Timer>();
  *timer = Io::instance().after(pause, [self = shared_from_this(), call, timer] {
    self->route_by_new_list(call);
    timer->reset();
  });
}

void Peers::ask(Milliseconds limit, Listed listed) {
  asking_.push_back(std::move(listed));
  if (asking_.size() > 1) return;  // One question answers all.
  // A controller that is frozen must not take the time of those that are left.
  const auto addresses = static_cast<int>(addresses_of(asked_.controller).size());
  ask_directory(
      asked_,
      std::max(Milliseconds(1), limit / addresses),
      [self = shared_from_this()](const DirectoryAnswer& answer) { self->on_listed(answer); });
}

void Peers::on_listed(DirectoryAnswer answer) {
  listed_at_ = std::chrono::steady_clock::now();
  if (answer.list) {
    list_ = std::make_shared<const PeerList>(*answer.list);
    unknown_since_.reset();
  } else if (answer.is_unknown) {
    if (!unknown_since_) unknown_since_ = listed_at_;
    answer.may_try_again = listed_at_ - *unknown_since_ < kTokenUnknownMax;
  }
  unfit_ = answer.is_unfit ? unfit_ + 1 : 0;
  if (unfit_ > 0 && unfit_ < addresses_of(asked_.controller).size()) answer.may_try_again = true;
  if (!answer.list && answer.may_try_again) turn_to_next(asked_.controller);
  for (const Listed& listed : std::exchange(asking_, {})) listed(answer);
}

/// Asks again after pauses while the error may pass.
void Peers::ask_until(SteadyTime until, Milliseconds pause, Listed listed) {
  const auto left = std::chrono::ceil<Milliseconds>(until - std::chrono::steady_clock::now());
  ask(std::max(Milliseconds(1), left),
      [self = shared_from_this(), until, pause, listed = std::move(listed)](
          const DirectoryAnswer& answer) {
        const bool has_time = std::chrono::steady_clock::now() + pause < until;
        if (answer.list || !answer.may_try_again || !has_time || self->closed_)
          return listed(answer);
        const auto timer = std::make_shared<Io::Timer>();
        *timer = Io::instance().after(pause, [self, until, pause, listed, timer] {
          self->ask_until(until, std::min(kPauseMax, pause * 2), listed);
          timer->reset();
        });
      });
}

std::shared_ptr<PeerLink> Peers::link_to(const Peer& peer) {
  std::shared_ptr<PeerLink>& link = links_[peer.worker];
  const bool is_same = link && link->is_usable() && link->peer().port == peer.port &&
                       link->peer().address == peer.address && link->peer().key == peer.key;
  if (!is_same) {
    // One that was replaced goes on until its calls are answered.
    if (link && link->is_usable()) replaced_.push_back(link);
    link = std::make_shared<PeerLink>(peer,
                                      list_->caller,
                                      list_->generation,
                                      [weak = weak_from_this()](const PeerLink::Broken& broken) {
                                        if (const auto self = weak.lock()) {
                                          self->on_broken(broken);
                                        } else {
                                          broken.call->fail(broken.error);
                                        }
                                      });
    // After this call has been put into it.
    Io::instance().post([link] { link->open(); });
  }
  return link;
}

void Peers::on_broken(const PeerLink::Broken& broken) {
  const CallPtr& call = broken.call;
  if (call->is_ready()) return;
  call->on_cancel = nullptr;
  call->on_credit = nullptr;
  if (closed_ || broken.error.type == "Cancelled") return call->fail(broken.error);
  if (broken.error.type == "WorkerLost") list_.reset();
  if (broken.was_sent) {
    const bool may_retry = broken.error.type == "WorkerLost" && !call->was_stream() &&
                           call->attempt < call->request.options.retries;
    if (!may_retry) return call->fail(broken.error);
    ++call->attempt;
    call->tries = 0;
    return try_later(call);
  }
  // Nothing was sent: the directory may be ahead of what is known here. A worker that is called
  // again after a loss may take its time to come back.
  if (call->attempt > 0 && broken.error.type == "WorkerLost") return try_later(call);
  if (call->tries++ > 0) return call->fail(broken.error);
  call->is_fresh = false;
  ask(kAskLimit,
      [self = shared_from_this(), call, error = broken.error, tried = *broken.peer](
          const DirectoryAnswer& answer) {
        if (!answer.list) return call->fail(error);
        const Peer* peer = target_in(*answer.list, call->request.target);
        if (peer != nullptr && peer->key == tried.key && peer->port == tried.port)
          return call->fail(error);
        if (peer == nullptr && !answer.list->may_grow()) return call->fail(error);
        call->is_fresh = true;
        self->route(call);
      });
}

std::shared_ptr<const PeerList> Peers::refresh(Milliseconds limit) {
  const auto answer = std::make_shared<std::promise<DirectoryAnswer>>();
  std::future<DirectoryAnswer> waited = answer->get_future();
  const SteadyTime until = from_now(limit);
  Io::instance().post([self = shared_from_this(), until, answer] {
    self->ask_until(
        until, kPauseMin, [answer](const DirectoryAnswer& got) { answer->set_value(got); });
  });
  const DirectoryAnswer got = waited.get();
  if (!got.list) raise(got.error);
  return std::make_shared<const PeerList>(*got.list);
}

void Peers::close() {
  run_on_io([this] {
    closed_ = true;
    for (const auto& [worker, link] : std::exchange(links_, {})) link->close();
    for (const auto& link : std::exchange(replaced_, {})) link->close();
  });
}

CallPtr begin_call(const std::shared_ptr<Peers>& peers, CallRequest request) {
  CallOptions& options = request.options;
  if (options.once.size() > kOnceMax)
    throw BadArguments(request.method + ": once: found " + std::to_string(options.once.size()) +
                       " bytes, needed at most 64; take a shorter name");
  if (options.retries > 0 && options.once.empty()) options.once = random_hex(16);
  auto call = std::make_shared<CallState>(std::move(request));
  call->keep = peers;
  peers->submit(call);
  return call;
}

std::shared_ptr<Peers> open_peers(DirectoryAccess access) {
  const auto owner = std::make_shared<Peers>(std::move(access));
  // The last user closes the connections; calls on their way hold the rest.
  return {owner.get(), [owner](Peers* each) { each->close(); }};
}

}  // namespace orrery::sdk::detail
