// Records are folded by the run's clock, however long before it its controller began.
#include "tools/cluster_world/journal_reader.hpp"

#include <gtest/gtest.h>

#include "core/record/codec.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::cli {
namespace {

constexpr Instant kBegin = Instant::zero() + Duration::seconds(60);

/// What a controller writes whose clock stands at `kFirst` when it begins.
class RecordsOfAController {
 public:
  static constexpr Instant kFirst = Instant::zero() + Duration::seconds(1'000'000);

  explicit RecordsOfAController(const std::string& path) {
    auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::Append);
    EXPECT_TRUE(store);
    if (store) store_ = std::move(*store);
  }

  void append(Duration after, EventBody body) {
    const Event event{kFirst + after, kFirst + after, Origin::External, std::move(body)};
    ByteWriter bytes;
    encode(event, bytes);
    Digester digester(chain_);
    digester.update(bytes.bytes());
    chain_ = digester.finish();
    const StoredRecord record{sequence_, chain_, bytes.bytes()};
    ASSERT_TRUE(store_->append(Epoch{1}, {&record, 1}));
    ASSERT_TRUE(store_->sync());
    sequence_ = sequence_.next();
  }

 private:
  std::unique_ptr<runtime::SqliteStore> store_;
  Digest chain_;
  Sequence sequence_{1};
};

TEST(JournalReader, NoTimeStepsBackWhereTheRunBeginsLongAfterItsController) {
  const TemporaryFolder folder;
  RecordsOfAController records(folder.file("journal.db"));
  JournalReader reader(folder.file("journal.db"));
  const Instant come_up = kBegin - Duration::seconds(30);
  reader.set_origin(RecordsOfAController::kFirst, come_up);
  records.append(Duration::zero(), EpochStarted{Epoch{1}, {}});
  ASSERT_TRUE(reader.follow());
  EXPECT_EQ(reader.state().now, come_up);

  // It begins 80 s after: what was written in between is 40 s before the beginning, and read after
  // it.
  records.append(Duration::seconds(40), TimeReached{});
  reader.set_origin(RecordsOfAController::kFirst + Duration::seconds(80), kBegin);
  ASSERT_TRUE(reader.follow());
  EXPECT_EQ(reader.state().now, come_up);

  records.append(Duration::seconds(81), TimeReached{});
  ASSERT_TRUE(reader.follow());
  EXPECT_EQ(reader.state().now, kBegin + Duration::seconds(1));
}

}  // namespace
}  // namespace orrery::cli
