// NCCL's state machine on a library that fails as it is told; nothing here needs a GPU. That real
// collectives run on one is for tools/gpu_check.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <thread>

#include "runtime/workers/nccl/nccl_collective.hpp"
#include "tests/runtime/workers/child.hpp"
#include "tests/runtime/workers/fake_nccl.hpp"
#include "tests/support/temporary_folder.hpp"
#ifdef ORRERY_HAS_NCCL_HEADER
#include <nccl.h>
#endif

namespace orrery::worker {
namespace {

/// A device that computes nothing; its queue is as busy as the library says.
class FakeStream final : public DeviceStream {
 public:
  explicit FakeStream(const FakeNccl& library) : library_(library) {}

  void* handle() const override { return nullptr; }

  float* scratch() const override { return nullptr; }

  State state(std::string& reason) override {
    if (failed) {
      reason = "cuda: an illegal memory access was encountered";
      return State::Failed;
    }
    return library_.busy ? State::Busy : State::Idle;
  }

  bool failed = false;

 private:
  const FakeNccl& library_;
};

class NcclTest : public testing::Test {
 protected:
  NcclTest() {
    Result<NcclLibrary> opened = open_nccl(FAKE_NCCL);
    library_ = std::move(opened).value();
    void* again = ::dlopen(FAKE_NCCL, RTLD_NOW);
    fake_ = reinterpret_cast<FakeNcclControl>(::dlsym(again, "fake_nccl_control"))();
    fake_->polls_until_ready = 3;
    for (std::atomic<bool>* each :
         {&fake_->init_hangs, &fake_->reduce_hangs, &fake_->call_hangs, &fake_->busy})
      *each = false;
    for (std::atomic<int>* each : {&fake_->error_at_init,
                                   &fake_->async_error,
                                   &fake_->inits,
                                   &fake_->aborts,
                                   &fake_->destroys,
                                   &fake_->uses_after_abort,
                                   &fake_->blocking_configs})
      *each = 0;
    stream_ = std::make_unique<FakeStream>(*fake_);
  }

  ~NcclTest() override {
    collective_.reset();
    EXPECT_EQ(fake_->destroys, 0);
    EXPECT_EQ(fake_->uses_after_abort, 0);
    EXPECT_EQ(fake_->blocking_configs, 0);
  }

  Outcome build(std::uint64_t generation,
                Milliseconds operation = Milliseconds(kPatience_ms),
                Milliseconds limit = Milliseconds(kPatience_ms)) {
    if (!collective_) collective_ = make_nccl_collective({limit, operation}, library_, *stream_);
    Group group;
    group.meeting.generation = generation;
    return collective_->rebuild(group);
  }

  Outcome reduce() {
    float nothing = 0;
    return collective_->all_reduce(std::span(&nothing, 1));
  }

  NcclLibrary library_;
  FakeNccl* fake_ = nullptr;
  std::unique_ptr<FakeStream> stream_;
  std::unique_ptr<Collective> collective_;
};

TEST_F(NcclTest, ACommunicatorIsPolledUntilItIsReadyAndLeftByAbort) {
  ASSERT_TRUE(build(1).ok());
  EXPECT_TRUE(reduce().ok());
  EXPECT_TRUE(collective_->barrier().ok());
  EXPECT_EQ(fake_->aborts, 0);
  ASSERT_TRUE(build(2).ok());
  EXPECT_EQ(fake_->inits, 2);
  EXPECT_EQ(fake_->aborts, 1);
  EXPECT_TRUE(reduce().ok());
}

TEST_F(NcclTest, AnInitThatHangsEndsAtTheTimeLimit) {
  fake_->init_hangs = true;
  const Outcome built = build(1, Milliseconds(kPatience_ms), Milliseconds(50));
  EXPECT_EQ(built.kind, OutcomeKind::TimedOut) << built.reason;
  EXPECT_EQ(fake_->aborts, 1);
}

TEST_F(NcclTest, AnInitThatHangsIsCancelledByANewerGeneration) {
  fake_->init_hangs = true;
  collective_ = make_nccl_collective({}, library_, *stream_);
  std::thread agent([this] {
    while (fake_->inits == 0) std::this_thread::yield();
    collective_->cancel_before(2);
  });
  EXPECT_EQ(build(1).kind, OutcomeKind::Cancelled);
  agent.join();
  fake_->init_hangs = false;
  EXPECT_TRUE(build(2).ok());
}

TEST_F(NcclTest, AKernelThatHangsIsFreedAtTheTimeLimit) {
  ASSERT_TRUE(build(1, Milliseconds(50)).ok());
  fake_->reduce_hangs = true;
  const Outcome done = reduce();
  EXPECT_EQ(done.kind, OutcomeKind::TimedOut) << done.reason;
  EXPECT_EQ(fake_->aborts, 1);
  fake_->reduce_hangs = false;
  ASSERT_TRUE(build(2).ok());
  EXPECT_TRUE(reduce().ok());
}

TEST_F(NcclTest, ACallThatHangsIsFreedByANewerGeneration) {
  ASSERT_TRUE(build(1).ok());
  fake_->call_hangs = true;
  std::thread agent([this] { collective_->cancel_before(2); });
  EXPECT_EQ(reduce().kind, OutcomeKind::Cancelled);
  agent.join();
  EXPECT_EQ(fake_->aborts, 1);
}

TEST_F(NcclTest, ARemoteErrorWaitsForTheNextGeneration) {
  ASSERT_TRUE(build(1).ok());
  fake_->reduce_hangs = true;
  fake_->async_error = 6;
  const Outcome done = reduce();
  EXPECT_EQ(done.kind, OutcomeKind::PeerLost);
  EXPECT_NE(done.reason.find("remote process exited"), std::string::npos) << done.reason;
}

TEST_F(NcclTest, ACudaErrorIsFatal) {
  ASSERT_TRUE(build(1).ok());
  fake_->async_error = 1;
  EXPECT_EQ(reduce().kind, OutcomeKind::Fatal);
}

TEST_F(NcclTest, AnErrorOfTheStreamIsFatal) {
  ASSERT_TRUE(build(1).ok());
  stream_->failed = true;
  const Outcome done = reduce();
  EXPECT_EQ(done.kind, OutcomeKind::Fatal);
  EXPECT_NE(done.reason.find("illegal memory access"), std::string::npos);
}

TEST_F(NcclTest, AnInitThatIsRefusedIsTold) {
  fake_->error_at_init = 5;
  EXPECT_EQ(build(1).kind, OutcomeKind::Fatal);
  fake_->error_at_init = 2;
  EXPECT_EQ(build(2).kind, OutcomeKind::PeerLost);
  EXPECT_EQ(fake_->aborts, 0);
}

TEST(NcclLibraryTest, WhereNoneIsEveryPlaceIsTold) {
  const TemporaryFolder folder;
  const auto missing = open_nccl(folder.file("libnccl.so.2"));
  ASSERT_FALSE(missing);
  const std::string text = missing.errors().front().text();
  EXPECT_NE(text.find(folder.file("libnccl.so.2")), std::string::npos) << text;
  EXPECT_NE(text.find("--nccl-library"), std::string::npos) << text;
  EXPECT_GE(nccl_places("").size(), 1u);
}

TEST(NcclLibraryTest, TheRealOneIsOpenedWhereItIs) {
  const auto real = open_nccl("");
  if (!real) GTEST_SKIP() << real.errors().front().text();
  EXPECT_GE(real->version, nccl::kVersionMin);
}

TEST(NcclLibraryTest, OwnDeclarationsAgreeWithTheHeader) {
#ifdef ORRERY_HAS_NCCL_HEADER
  static_assert(sizeof(ncclUniqueId) == sizeof(nccl::UniqueId));
  static_assert(offsetof(ncclConfig_t, size) == offsetof(nccl::Config, size));
  static_assert(offsetof(ncclConfig_t, magic) == offsetof(nccl::Config, magic));
  static_assert(offsetof(ncclConfig_t, version) == offsetof(nccl::Config, version));
  static_assert(offsetof(ncclConfig_t, blocking) == offsetof(nccl::Config, blocking));
  static_assert(ncclSuccess == nccl::kSuccess && ncclInProgress == nccl::kInProgress);
  static_assert(ncclUnhandledCudaError == nccl::kUnhandledCudaError);
  static_assert(ncclInvalidArgument == 4 && ncclInvalidUsage == 5);
  static_assert(ncclFloat == nccl::kFloat && ncclSum == nccl::kSum);
  static_assert(NCCL_VERSION_CODE >= nccl::kVersionMin);
  const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(initial.magic, nccl::Config{}.magic);
#else
  GTEST_SKIP() << "nccl.h was not found at configure time";
#endif
}

}  // namespace
}  // namespace orrery::worker
