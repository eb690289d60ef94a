// A journal whose store is slow, fails, and loses its tail: all in simulated time, from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/random.hpp"
#include "core/driver/state_store.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

/// How the store behaves from now on.
struct StoreFaults {
  Duration latency;           ///< From `sync` until its records are durable.
  bool appends_fail = false;  ///< As a full disk: nothing is taken.
  bool syncs_fail = false;    ///< Records are taken, but none becomes durable.
};

/// What is left, after a crash, of records that were not durable yet.
enum class TailLoss : std::uint8_t {
  All,     ///< Nothing.
  Prefix,  ///< The first few of them, from the seed.
  Torn,    ///< The first few, and a part of the next one.
  None,    ///< All of them: only the process died, not its machine.
};

/// The journal that all leaders of one simulated world share. One of them at a time may append;
/// a later writer with a higher epoch deposes those before.
///
/// Records live until the end of the journal. Damage done to it by a crash is found when the next
/// session is opened: a torn record is recognised by its digest and dropped.
class FaultyJournal {
 public:
  /// `watch` may be null.
  FaultyJournal(Random random, HostWatch* watch) : random_(random), watch_(watch) {}

  void set_faults(const StoreFaults& faults) { faults_ = faults; }

  /// Lets time pass: what was under way becomes durable.
  void advance_to(Instant now);

  /// The leader that appended last has crashed. Its records that are not durable are lost as `loss`
  /// says.
  void lose_tail(TailLoss loss);

  /// Begins to make durable what was appended, though nothing waits for it: stores commit in the
  /// background.
  void commit();

  /// The last record that survives every crash.
  Sequence durable() const { return durable_; }

  /// The last record.
  Sequence last() const { return Sequence{entries_.size()}; }

  /// The highest epoch that has ever appended, also where its records were lost.
  Epoch leader() const { return leader_; }

  /// When more will be durable; never where nothing is under way.
  Instant next_durable() const { return under_way_ > durable_ ? done_at_ : Instant::never(); }

 private:
  friend class FaultyStore;

  struct Entry {
    Digest chain;
    std::size_t begin = 0;
    std::uint32_t size = 0;
    std::uint16_t version = 0;
  };

  /// What a session may still believe once another one has been opened.
  struct Session {
    LeaderNumber leader;
    Sequence durable;
  };

  std::size_t open_session(LeaderNumber leader);
  Status append(std::size_t session, Epoch writer, std::span<const StoredRecord> records);
  Status sync(std::size_t session);
  Sequence durable_of(std::size_t session) const;
  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) const;
  Status save_snapshot(std::size_t session, const StoredSnapshot& snapshot);
  std::optional<StoredSnapshot> latest_snapshot() const;

  bool is_current(std::size_t session) const { return session + 1 == sessions_.size(); }

  Status refuse(std::size_t session, Epoch writer) const;
  void become_durable(Sequence upto);
  void drop_old_snapshots();
  void truncate(std::size_t count);
  void drop_torn_record();

  Random random_;
  HostWatch* watch_;
  StoreFaults faults_;
  Instant now_;
  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
  std::vector<StoredSnapshot> snapshots_;  ///< At most two that are durable, and younger ones.
  std::vector<Session> sessions_;          ///< The last one is current.
  Epoch leader_;
  Sequence durable_;
  Sequence under_way_;   ///< What a sync that has begun will make durable,
  Instant done_at_;      ///< and when.
  bool settled_ = true;  ///< Nothing was appended since the tail was last settled.
};

/// The store as one leader has it: a session of the journal.
class FaultyStore final : public StateStore {
 public:
  /// Opens a session. What the session before had appended without its becoming durable is settled
  /// now, from the seed: some of it is in the journal, the rest never will be.
  FaultyStore(FaultyJournal& journal, LeaderNumber leader)
      : journal_(journal), session_(journal.open_session(leader)) {}

  /// Whether the journal was not opened since.
  bool is_current() const { return journal_.is_current(session_); }

  Status append(Epoch writer, std::span<const StoredRecord> records) override {
    return journal_.append(session_, writer, records);
  }

  Sequence durable() const override { return journal_.durable_of(session_); }

  Status sync() override { return journal_.sync(session_); }

  Instant next_durable() const override { return journal_.next_durable(); }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return journal_.read_from(first, visit);
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    return journal_.save_snapshot(session_, snapshot);
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return journal_.latest_snapshot();
  }

 private:
  FaultyJournal& journal_;
  std::size_t session_;
};

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::TailLoss> {
  static constexpr std::array kNames{"all", "prefix", "torn", "none"};
};
