// The journal of an explored world: what is durable, and what a crash may take.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/control/controller.hpp"
#include "core/driver/state_store.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

/// Records in memory. They become durable when the world says so. One leader at a time may append:
/// the last that has opened it. The digests of the chain are made when records are read: journals
/// of one meaning are one here, whatever was written.
class ExploredJournal {
 public:
  /// Opens it for `leader` and returns what is durable for the one before from now on. Of the
  /// records that are not durable `kept` are there, and durable.
  void open(LeaderNumber leader, std::size_t kept);

  /// The leader that may append has crashed: `kept` of its records that are not durable are there,
  /// and not durable yet.
  void crash(std::size_t kept);

  void commit();

  bool is_of(LeaderNumber leader) const { return leader == leader_; }

  Status append(LeaderNumber leader, Epoch writer, std::span<const StoredRecord> records);

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) const;

  Sequence durable() const { return Sequence{durable_}; }

  Sequence last() const { return Sequence{records_.size()}; }

  std::size_t not_durable() const { return records_.size() - durable_; }

  /// The highest epoch that has ever appended.
  Epoch epoch() const { return epoch_; }

  /// The state that the durable records lead to.
  const State& durable_state() const { return folded_->state(); }

  /// All that decides what it does: the durable state, and the records after it.
  void save(ByteWriter& out) const;

 private:
  struct Record {
    std::vector<std::byte> bytes;
    std::uint16_t version = 0;
  };

  void cut(std::size_t count);
  void fold_to(std::size_t count);

  std::vector<std::shared_ptr<const Record>> records_;
  std::size_t durable_ = 0;
  Epoch epoch_;
  LeaderNumber leader_;
  std::shared_ptr<const Controller> folded_ = std::make_shared<const Controller>();
};

}  // namespace orrery::sim
