#include "runtime/etcd/etcd_election.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/invariant.hpp"
#include "runtime/etcd/pause.hpp"

namespace orrery::runtime {
namespace {

using std::chrono::milliseconds;

constexpr int kBeatsPerLease = 5;
// A watch tells of an end at once; this is for watches that stand still.
constexpr milliseconds kLookAgain{500};
constexpr milliseconds kPauseAfterFailure{50};
constexpr milliseconds kLookPatience{1'000};  // Giving up a campaign waits for it.
// What cannot be given back soon ends by itself soon after.
constexpr milliseconds kResignPatience{1'000};

std::string text_of(const Candidate& candidate) {
  ByteWriter out;
  out.string(candidate.name);
  out.string(candidate.address);
  return std::string(out.text());
}

// NotFound: the lease had ended before the leader's key was put with it, as where etcd was out of
// reach between the two. The next try has another lease.
bool may_pass(ErrorCode code) {
  return code == ErrorCode::Unavailable || code == ErrorCode::NotFound;
}

std::optional<Candidate> candidate_in(const std::string& value) {
  ByteReader in(value);
  Candidate out;
  out.name = in.string();
  out.address = in.string();
  if (!in.finished()) return std::nullopt;
  return out;
}

}  // namespace

EtcdElection::EtcdElection(EtcdClient& client,
                           Candidate self,
                           EtcdElectionOptions options,
                           Lost lost)
    : client_(client),
      self_(std::move(self)),
      options_(std::move(options)),
      lost_(std::move(lost)),
      key_(options_.prefix + "/leader"),
      until_(Clock::time_point::min().time_since_epoch().count()),
      watch_(client,
             EtcdRange::key(key_),
             {[this](const std::vector<EtcdPair>& pairs) {
                observe(pairs.empty() ? nullptr : &pairs.front().value);
              },
              [this](const std::vector<EtcdChange>& changes) {
                observe(changes.back().deleted ? nullptr : &changes.back().pair.value);
              }}) {
  invariant(!self_.name.empty(), "a candidate has a name");
}

EtcdElection::~EtcdElection() = default;

void EtcdElection::observe(const std::string* value) {
  {
    const std::lock_guard lock(mutex_);
    leader_ = value == nullptr ? std::nullopt : candidate_in(*value);
    ++changes_;
  }
  changed_.notify_all();
}

std::optional<Candidate> EtcdElection::leader() const {
  const std::lock_guard lock(mutex_);
  return leader_;
}

Result<std::optional<Leadership>> EtcdElection::campaign(std::stop_token cancel) {
  static_cast<void>(resign());  // Where that fails, the lease ends by itself, and is waited for.
  while (!cancel.stop_requested()) {
    const Result<bool> taken = has_leader();
    if (taken && *taken) {
      wait_for_change(cancel);
      continue;
    }
    const Result<std::optional<Won>> won =
        taken ? try_to_win() : Result<std::optional<Won>>(taken.errors());
    if (!won) {
      if (!may_pass(won.errors()[0].code)) return won.errors();
      pause(cancel, kPauseAfterFailure);
      continue;
    }
    if (!*won) continue;
    lease_ = (*won)->lease;
    renewing_ = std::jthread([this](const std::stop_token& stop) { renew(stop, lease_); });
    return std::optional<Leadership>((*won)->leadership);
  }
  return std::optional<Leadership>{};
}

Result<bool> EtcdElection::has_leader() {
  const Result<EtcdAnswer> read = client_.read(EtcdRange::key(key_), {.patience = kLookPatience});
  if (!read) return read.errors();
  return !read->pairs.empty();
}

void EtcdElection::wait_for_change(const std::stop_token& cancel) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, cancel, kLookAgain, [this, seen = changes_] { return changes_ != seen; });
}

/// None where another candidate was faster.
Result<std::optional<EtcdElection::Won>> EtcdElection::try_to_win() {
  const Clock::time_point sent = Clock::now();
  const Result<EtcdLease> lease = client_.grant(options_.lease);
  if (!lease) return lease.errors();
  const Result<EtcdAnswer> answer = client_.commit({{{key_, EtcdCompare::Target::Created, 0}},
                                                    {EtcdPut{key_, text_of(self_), lease->id}},
                                                    {EtcdGet{EtcdRange::key(key_)}}});
  // An unanswered put may have been done: the lease that it goes with is not renewed, and ends.
  if (!answer) return answer.errors();
  Won won{lease->id, {answer->revision}};
  if (!answer->succeeded) {
    const bool ours = !answer->pairs.empty() && answer->pairs[0].lease == lease->id;
    if (!ours) {
      static_cast<void>(client_.revoke(lease->id, kResignPatience));  // Else it ends by itself.
      return std::optional<Won>{};
    }
    // An earlier try was done, and only its answer was lost.
    won.leadership.fence = answer->pairs[0].create_revision;
  }
  extend(sent, lease->ttl);
  return std::optional<Won>(won);
}

void EtcdElection::extend(Clock::time_point sent, std::chrono::seconds ttl) {
  const Clock::duration sure = Clock::duration(ttl) * 9 / 10;
  until_ = (sent + sure).time_since_epoch().count();
}

void EtcdElection::end_term() { until_ = Clock::time_point::min().time_since_epoch().count(); }

/// Beats until the lease has ended or it is told to stop.
void EtcdElection::renew(const std::stop_token& stop, std::int64_t lease) {
  const milliseconds beat = milliseconds(options_.lease) / kBeatsPerLease;
  while (true) {
    pause(stop, is_certain() ? beat : kPauseAfterFailure);
    if (stop.stop_requested()) return;
    const Clock::time_point sent = Clock::now();
    const Result<EtcdLease> kept = client_.keep_alive(lease, client_.settings().call_deadline);
    if (stop.stop_requested()) return;
    if (kept) {
      extend(sent, kept->ttl);
    } else if (kept.errors()[0].code != ErrorCode::Unavailable) {
      end_term();
      if (lost_) lost_(kept.errors());
      return;
    }
  }
}

Status EtcdElection::resign() {
  if (lease_ == 0) return Done{};
  renewing_ = {};
  end_term();
  // The leader's key goes with it.
  return client_.revoke(std::exchange(lease_, 0), kResignPatience);
}

}  // namespace orrery::runtime
