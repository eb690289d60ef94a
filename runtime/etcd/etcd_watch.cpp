#include "runtime/etcd/etcd_watch.hpp"

#include <utility>

#include "runtime/etcd/pause.hpp"

namespace orrery::runtime {
namespace {

constexpr std::chrono::milliseconds kPauseBeforeWatchingAgain{50};
constexpr std::chrono::milliseconds kReadPatience{1'000};  // Ending the watch waits for it.

}  // namespace

EtcdWatch::EtcdWatch(EtcdClient& client, EtcdRange range, Handler handler, std::int64_t from)
    : client_(client),
      range_(std::move(range)),
      handler_(std::move(handler)),
      next_(from),
      thread_([this](const std::stop_token& stop) { follow(stop); }) {}

void EtcdWatch::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (next_ == 0) {
      Result<EtcdAnswer> read = client_.read(range_, {.patience = kReadPatience});
      if (!read) {
        pause(stop, kPauseBeforeWatchingAgain);
        continue;
      }
      next_ = read->revision + 1;
      handler_.all(std::move(read->pairs));
    }
    const auto end = client_.watch(
        range_, next_, stop, [this](std::vector<EtcdChange> changes, std::int64_t revision) {
          next_ = revision + 1;
          handler_.changed(std::move(changes));
        });
    if (!end) pause(stop, kPauseBeforeWatchingAgain);
    if (end && (end->compacted > 0 || (end->is_behind && is_replaced()))) next_ = 0;
    if (end && end->is_behind) pause(stop, kPauseBeforeWatchingAgain);
  }
}

// Whether the revisions that were seen are no more: a member that lags has them some time later,
// and a read waits for it.
bool EtcdWatch::is_replaced() {
  const Result<EtcdAnswer> read = client_.read(range_, {.patience = kReadPatience});
  return read && read->revision + 1 < next_;
}

}  // namespace orrery::runtime
