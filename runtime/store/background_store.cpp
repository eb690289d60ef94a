#include "runtime/store/background_store.hpp"

#include <string>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::runtime {

BackgroundStore::BackgroundStore(StateStore& inner,
                                 std::function<void()> wake,
                                 BackgroundOptions options)
    : inner_(inner),
      wake_(std::move(wake)),
      options_(options),
      durable_(inner.durable().value),
      last_(inner.durable()),
      thread_([this] { write(); }) {}

BackgroundStore::~BackgroundStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

// What needs no look at the store is refused at once, as the store itself would.
Status BackgroundStore::refuse_what_cannot_follow(Epoch writer,
                                                  std::span<const StoredRecord> records) const {
  if (writer < leader_) return deposed({}, writer, leader_);
  Sequence expected = last_;
  for (const StoredRecord& record : records) {
    expected = expected.next();
    if (record.sequence != expected)
      return Error{
          ErrorCode::Conflict,
          {},
          0,
          "record " + std::to_string(record.sequence.value),
          "the next record is " + std::to_string(expected.value) + "; append without gaps"};
  }
  return Done{};
}

Status BackgroundStore::append(Epoch writer, std::span<const StoredRecord> records) {
  if (Status follows = refuse_what_cannot_follow(writer, records); !follows) return follows;
  if (records.empty()) return Done{};
  Batch batch{writer, {records.begin(), records.end()}, {}};
  std::size_t size = 0;
  for (const StoredRecord& record : records) size += record.bytes.size();
  batch.bytes.reserve(size);  // So that the spans below stay.
  for (StoredRecord& record : batch.records) {
    const std::size_t begin = batch.bytes.size();
    batch.bytes.insert(batch.bytes.end(), record.bytes.begin(), record.bytes.end());
    record.bytes = std::span(batch.bytes).subspan(begin);
  }
  size += records.size() * sizeof(StoredRecord);
  if (Status queued = enqueue({std::move(batch), size, records.size(), Clock::now()}); !queued)
    return queued;
  last_ = records.back().sequence;
  leader_ = writer;
  return Done{};
}

Status BackgroundStore::save_snapshot(const StoredSnapshot& snapshot) {
  if (snapshot.sequence > last_)
    return Error{
        ErrorCode::Conflict,
        {},
        0,
        "snapshot " + std::to_string(snapshot.sequence.value),
        "the journal ends at record " + std::to_string(last_.value) + "; append the records first"};
  return enqueue({snapshot, snapshot.bytes.size(), 0, Clock::now()});
}

Status BackgroundStore::enqueue(Item item) {
  started_ = true;
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    return refused_ || bytes_ == 0 || bytes_ + item.bytes <= options_.queue_bytes_max;
  };
  if (!has_room()) {
    urgent_ = true;
    queued_.notify_one();
    committed_.wait(lock, has_room);
  }
  if (refused_) return *refused_;
  bytes_ += item.bytes;
  records_ += item.records;
  queue_.push_back(std::move(item));
  const bool look = queue_.size() == 1 || records_ >= options_.group_max;
  lock.unlock();
  if (look) queued_.notify_one();
  return Done{};
}

Status BackgroundStore::sync() {
  {
    const std::lock_guard lock(mutex_);
    if (refused_) return *refused_;
    if (queue_.empty() || urgent_) return Done{};
    urgent_ = true;
  }
  queued_.notify_one();
  return Done{};
}

Status BackgroundStore::status() const {
  const std::lock_guard lock(mutex_);
  if (refused_) return *refused_;
  return Done{};
}

Status BackgroundStore::flush() {
  std::unique_lock lock(mutex_);
  urgent_ = true;
  queued_.notify_one();
  committed_.wait(lock, [this] { return refused_ || (queue_.empty() && !writing_); });
  if (refused_) return *refused_;
  return Done{};
}

std::size_t BackgroundStore::queued_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

Status BackgroundStore::read_from(Sequence first,
                                  const std::function<bool(const StoredRecord&)>& visit) {
  invariant(!started_, "a store that commits in the background is read before it is appended to");
  return inner_.read_from(first, visit);
}

Result<std::optional<StoredSnapshot>> BackgroundStore::latest_snapshot() {
  invariant(!started_, "a store that commits in the background is read before it is appended to");
  return inner_.latest_snapshot();
}

void BackgroundStore::write() {
  std::unique_lock lock(mutex_);
  while (wait_for_group(lock)) {
    const std::vector<Item> group = take_group();
    writing_ = true;
    lock.unlock();
    const Status done = commit(group);
    std::size_t bytes = 0;
    for (const Item& item : group) bytes += item.bytes;
    lock.lock();
    writing_ = false;
    bytes_ -= bytes;
    if (!done) {
      refused_ = done.errors();
      queue_.clear();
      bytes_ = 0;
    }
    committed_.notify_all();
    lock.unlock();
    wake_();
    lock.lock();
    if (refused_) return;
  }
}

/// Whether there is a group to write; false when the store is to end.
bool BackgroundStore::wait_for_group(std::unique_lock<std::mutex>& lock) {
  queued_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return false;
  queued_.wait_until(lock, queue_.front().since + options_.linger, [this] {
    return stopping_ || urgent_ || records_ >= options_.group_max;
  });
  return true;
}

/// At most `group_max` records; a snapshot ends its group, since it takes long.
std::vector<BackgroundStore::Item> BackgroundStore::take_group() {
  std::vector<Item> group;
  std::uint64_t records = 0;
  while (!queue_.empty()) {
    if (!group.empty() && records + queue_.front().records > options_.group_max) break;
    records += queue_.front().records;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (std::holds_alternative<StoredSnapshot>(group.back().body)) break;
  }
  records_ -= records;
  // What is left was there when `sync` was called, so it goes next.
  if (queue_.empty()) urgent_ = false;
  return group;
}

Status BackgroundStore::commit(const std::vector<Item>& group) {
  for (const Item& item : group) {
    const auto* batch = std::get_if<Batch>(&item.body);
    Status done = batch != nullptr ? inner_.append(batch->writer, batch->records)
                                   : inner_.save_snapshot(std::get<StoredSnapshot>(item.body));
    if (!done) return done;
  }
  if (Status synced = inner_.sync(); !synced) return synced;
  durable_.store(inner_.durable().value, std::memory_order_release);
  return Done{};
}

}  // namespace orrery::runtime
