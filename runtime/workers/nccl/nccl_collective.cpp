#include "runtime/workers/nccl/nccl_collective.hpp"

#include <poll.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace orrery::worker {
namespace {

// Between two looks of the watchdog, and of a thread that waits for an operation.
constexpr int kWatch_ms = 5;
constexpr auto kPoll = std::chrono::microseconds(50);
// Until the device's queue is empty once a communicator was aborted.
constexpr Milliseconds kUnstuck{5000};

/// One communicator and its watchdog, until it is aborted.
class Communicator {
 public:
  Communicator(const NcclLibrary& library, DeviceStream& stream, const Limits& group)
      : api_(library.api), stream_(stream), cancel_(group.cancel), lifeline_(group.lifeline) {}

  ~Communicator() {
    abort(Outcome::peer_lost("the group was left"));
    end_.set();
    if (watchdog_.joinable()) watchdog_.join();
  }

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Joins the others that have the same id.
  Outcome init(std::int32_t ranks, const nccl::UniqueId& id, std::int32_t rank, Deadline deadline) {
    nccl::Config config;
    nccl::Communicator made = nullptr;
    const int begun = api_.init_rank(&made, ranks, id, rank, &config);
    {
      const std::scoped_lock lock(mutex_);
      communicator_ = made;
      deadline_ = deadline;
    }
    if (made == nullptr) return classified(begun);
    watchdog_ = std::thread([this] { watch(); });
    if (begun != nccl::kSuccess && begun != nccl::kInProgress) return aborted(classified(begun));
    const Outcome settled = await_settled();
    end_operation();
    return settled;
  }

  /// Sums up in place, in memory of the device; returns once the sum is there.
  Outcome all_reduce(std::span<float> floats, Deadline deadline) {
    nccl::Communicator communicator = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (abort_reason_) return *abort_reason_;
      communicator = communicator_;
      deadline_ = deadline;
    }
    // Not under the lock: should the call get stuck, the watchdog's abort frees it.
    const int begun = api_.all_reduce(floats.data(),
                                      floats.data(),
                                      floats.size(),
                                      nccl::kFloat,
                                      nccl::kSum,
                                      communicator,
                                      stream_.handle());
    Outcome done = begun == nccl::kSuccess || begun == nccl::kInProgress
                       ? await_settled()
                       : aborted(classified(begun));
    if (done.ok()) done = await_stream();
    end_operation();
    return done.ok() ? done : after_abort(std::move(done));
  }

 private:
  /// Until the library has taken the operation on.
  Outcome await_settled() {
    for (;;) {
      int error = nccl::kSuccess;
      {
        const std::scoped_lock lock(mutex_);
        if (abort_reason_) return *abort_reason_;
        const int asked = api_.get_async_error(communicator_, &error);
        if (asked != nccl::kSuccess) error = asked;
      }
      if (error == nccl::kSuccess) return Outcome::done();
      if (error != nccl::kInProgress) return aborted(classified(error));
      std::this_thread::sleep_for(kPoll);
    }
  }

  /// Until the device has carried it out.
  Outcome await_stream() {
    for (;;) {
      std::string reason;
      const DeviceStream::State state = stream_.state(reason);
      if (state == DeviceStream::State::Failed) return aborted(Outcome::fatal(reason));
      {
        const std::scoped_lock lock(mutex_);
        if (abort_reason_) return *abort_reason_;
      }
      if (state == DeviceStream::State::Idle) return Outcome::done();
      std::this_thread::sleep_for(kPoll);
    }
  }

  /// The caller's memory is its own again only when nothing on the device uses it.
  Outcome after_abort(Outcome outcome) {
    if (outcome.kind == OutcomeKind::Fatal) return outcome;
    const Deadline deadline = Deadline::in(kUnstuck);
    for (;;) {
      std::string reason;
      const DeviceStream::State state = stream_.state(reason);
      if (state == DeviceStream::State::Idle) return outcome;
      if (state == DeviceStream::State::Failed) return Outcome::fatal(reason);
      if (deadline.passed())
        return Outcome::fatal("the device is stuck after the communicator was aborted (" +
                              outcome.reason + ")");
      std::this_thread::sleep_for(kPoll);
    }
  }

  void end_operation() {
    const std::scoped_lock lock(mutex_);
    deadline_.reset();
  }

  void watch() {
    while (!end_.is_set()) {
      pollfd set[] = {{end_.descriptor(), POLLIN, 0},
                      {cancel_.is_set() ? -1 : cancel_.descriptor(), POLLIN, 0}};
      ::poll(set, 2, kWatch_ms);
      const Outcome seen = look();
      if (seen.ok()) continue;
      abort(seen);
      return;
    }
  }

  /// What there is to abort for.
  Outcome look() {
    if (cancel_.is_set()) return Outcome::cancelled();
    const std::scoped_lock lock(mutex_);
    if (communicator_ == nullptr) return Outcome::done();
    if (deadline_ && deadline_->passed())
      return Outcome::timed_out("nccl: the time limit of the operation is over");
    int error = nccl::kSuccess;
    const int asked = api_.get_async_error(communicator_, &error);
    if (asked != nccl::kSuccess) error = asked;
    if (error != nccl::kSuccess && error != nccl::kInProgress) return classified(error);
    if (lifeline_ >= 0 && is_cut(lifeline_))
      return Outcome::peer_lost("nccl: a rank has left the group");
    return Outcome::done();
  }

  /// Aborts, unless that was done already.
  void abort(Outcome reason) {
    const std::scoped_lock lock(mutex_);
    if (abort_reason_) return;
    abort_reason_ = std::move(reason);
    // In the middle of an operation of the other thread: that is what it is for.
    if (communicator_ != nullptr) api_.abort(std::exchange(communicator_, nullptr));
  }

  /// The same, and what it was first done for.
  Outcome aborted(Outcome reason) {
    abort(std::move(reason));
    const std::scoped_lock lock(mutex_);
    return *abort_reason_;
  }

  /// A CUDA error stays with the process, and wrong usage will not be better next time. A remote or
  /// system error is over with the communicator.
  Outcome classified(int error) const {
    std::string reason = std::string("nccl: ") + api_.get_error_string(error);
    const char* last = api_.get_last_error == nullptr ? nullptr : api_.get_last_error(nullptr);
    if (last != nullptr && *last != '\0') reason += std::string(": ") + last;
    constexpr int kInvalidArgument = 4;
    constexpr int kInvalidUsage = 5;
    const bool fatal =
        error == nccl::kUnhandledCudaError || error == kInvalidArgument || error == kInvalidUsage;
    return fatal ? Outcome::fatal(reason) : Outcome::peer_lost(reason);
  }

  const nccl::Api& api_;
  DeviceStream& stream_;
  const Cancel& cancel_;
  const int lifeline_;

  std::mutex mutex_;
  nccl::Communicator communicator_ = nullptr;  ///< Null once aborted.
  std::optional<Outcome> abort_reason_;        ///< Why it was aborted.
  std::optional<Deadline> deadline_;           ///< Of the operation under way.
  Cancel end_;
  std::thread watchdog_;
};

class NcclCollective final : public Collective {
 public:
  NcclCollective(const CollectiveTimes& times, NcclLibrary library, DeviceStream& stream)
      : Collective(times), library_(std::move(library)), stream_(stream) {}

  std::string_view name() const override { return "nccl"; }

  bool takes_device_memory() const override { return true; }

 protected:
  Outcome build(Rendezvous* meeting, const Limits& limits) override {
    nccl::UniqueId id{};
    Outcome step = group().rank == 0 ? make_id(meeting, id) : take_id(*meeting, id);
    if (!step.ok()) return step;
    communicator_ = std::make_unique<Communicator>(library_, stream_, limits);
    return communicator_->init(group().world_size, id, group().rank, limits.deadline);
  }

  Outcome do_all_reduce(std::span<float> floats, const Limits& limits) override {
    return communicator_->all_reduce(floats, limits.deadline);
  }

  Outcome do_barrier(const Limits& limits) override {
    return communicator_->all_reduce(std::span(stream_.scratch(), 1), limits.deadline);
  }

  void close() override { communicator_.reset(); }

 private:
  Outcome make_id(Rendezvous* meeting, nccl::UniqueId& id) {
    const int made = library_.api.get_unique_id(&id);
    if (made != nccl::kSuccess)
      return Outcome::fatal(std::string("nccl: no unique id: ") +
                            library_.api.get_error_string(made));
    return meeting == nullptr ? Outcome::done()
                              : meeting->set("nccl/id", {id.bytes.data(), id.bytes.size()});
  }

  static Outcome take_id(Rendezvous& meeting, nccl::UniqueId& id) {
    std::string bytes;
    Outcome step = meeting.get("nccl/id", bytes);
    if (!step.ok()) return step;
    if (bytes.size() != id.bytes.size())
      return Outcome::fatal("rank 0's unique id of NCCL has " + std::to_string(bytes.size()) +
                            " bytes, needs 128");
    std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
    return Outcome::done();
  }

  const NcclLibrary library_;
  DeviceStream& stream_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

std::unique_ptr<Collective> make_nccl_collective(const CollectiveTimes& times,
                                                 const NcclLibrary& library,
                                                 DeviceStream& stream) {
  return std::make_unique<NcclCollective>(times, library, stream);
}

Backend nccl_backend() {
  return {"nccl",
          [](const Options& options, Compute& compute) -> Result<std::unique_ptr<Collective>> {
            if (compute.stream() == nullptr)
              return Error{ErrorCode::Unavailable, {}, 0, "NCCL", "needs a GPU that computes"};
            Result<NcclLibrary> library = open_nccl(options.nccl_library);
            if (!library) return library.errors();
            return make_nccl_collective(options.times, *library, *compute.stream());
          }};
}

}  // namespace orrery::worker
