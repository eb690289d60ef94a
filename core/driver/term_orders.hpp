// What a leader has ordered, as a fingerprint: what a replay of its records must order too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/driver/state_store.hpp"
#include "core/record/command.hpp"

namespace orrery {

/// The orders of one term, from its first record on. Costs the encoding of each order.
class TermOrders {
 public:
  /// A term begins with this record.
  void begin(Epoch epoch, Sequence first);

  /// What followed of a record of the term, in order; many records order nothing.
  void stepped(Sequence sequence, std::span<const CommandBody> orders);

  Epoch epoch() const { return epoch_; }

  Sequence first() const { return first_; }

  Sequence last() const { return last_; }  ///< The last record that was stepped.

  std::uint64_t count() const { return count_; }

  Digest digest() const { return digester_.finish(); }

  /// "epoch 3: 120 orders of records 1 to 480, digest ..."; empty before a term begins.
  std::string text() const;

 private:
  Epoch epoch_;
  Sequence first_;
  Sequence last_;
  std::uint64_t count_ = 0;
  Digester digester_;
  ByteWriter bytes_;  ///< Of the orders of one record.
};

/// What each term of a journal ordered, by folding it from its first record. Errors: as
/// `read_journal`.
Result<std::vector<TermOrders>> orders_of_terms(StateStore& store);

}  // namespace orrery
