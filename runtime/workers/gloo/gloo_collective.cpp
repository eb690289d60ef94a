#include "runtime/workers/gloo/gloo_collective.hpp"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/workers/gloo/errand_thread.hpp"

namespace orrery::worker {
namespace {

/// Gloo's store on rank 0's meeting place. Closed before the meeting goes, since an abandoned
/// errand may live longer; from then on every call fails.
class MeetingStore final : public gloo::rendezvous::Store {
 public:
  explicit MeetingStore(Rendezvous& meeting) : meeting_(&meeting) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const std::scoped_lock lock(mutex_);
    check(open().set("gloo/" + key, {data.data(), data.size()}));
  }

  std::vector<char> get(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    std::string value;
    check(open().get("gloo/" + key, value));
    return {value.begin(), value.end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }

  /// The meeting's own limits hold.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

  /// Waits for the call under way, which the meeting's limits end.
  void close() {
    const std::scoped_lock lock(mutex_);
    meeting_ = nullptr;
  }

 private:
  Rendezvous& open() {
    if (meeting_ == nullptr) throw gloo::IoException("the meeting is over");
    return *meeting_;
  }

  static void check(const Outcome& outcome) {
    if (!outcome.ok()) throw gloo::IoException(outcome.reason);
  }

  std::mutex mutex_;
  Rendezvous* meeting_;
};

/// Runs a call of Gloo; its exceptions become outcomes. After any of them the context is unusable.
template <class Call>
Outcome translated(Call&& call) {
  try {
    call();
    return Outcome::done();
  } catch (const gloo::IoException& error) {
    const std::string reason = error.what();
    if (reason.find("imed out") != std::string::npos) return Outcome::timed_out("gloo: " + reason);
    return Outcome::peer_lost("gloo: " + reason);
  } catch (const std::exception& error) {
    return Outcome::fatal("gloo: " + std::string(error.what()));
  }
}

class GlooCollective final : public Collective {
 public:
  using Collective::Collective;

  std::string_view name() const override { return "gloo"; }

 protected:
  Outcome build(Rendezvous* meeting, const Limits& limits) override {
    if (meeting == nullptr) return Outcome::done();
    tag_ = 0;  // Members of a new group have not done equally much before.
    const auto context =
        std::make_shared<gloo::rendezvous::Context>(group().rank, group().world_size);
    const auto store = std::make_shared<MeetingStore>(*meeting);
    context->setTimeout(std::max(limits.deadline.left(), Milliseconds(1)));
    thread_ = std::make_unique<ErrandThread>();
    Outcome built = thread_->run(
        [context, store, address = meeting->own_address()] {
          return translated([&] {
            gloo::transport::tcp::attr attributes(address.c_str());
            std::shared_ptr<gloo::transport::Device> device =
                gloo::transport::tcp::CreateDevice(attributes);
            context->connectFullMesh(*store, device);
          });
        },
        limits,
        "connecting all ranks");
    store->close();
    if (!built.ok()) return built;
    context->setTimeout(times().operation);
    context_ = context;
    return Outcome::done();
  }

  Outcome do_all_reduce(std::span<float> floats, const Limits& limits) override {
    if (!context_) return Outcome::done();
    // An abandoned errand must not write into the caller's floats.
    const auto own = std::make_shared<std::vector<float>>(floats.begin(), floats.end());
    Outcome done = thread_->run(
        [context = context_, own, tag = ++tag_] {
          return translated([&] {
            gloo::AllreduceOptions options(context);
            options.setOutput(own->data(), own->size());
            options.setReduceFunction(
                static_cast<void (*)(void*, const void*, const void*, std::size_t)>(
                    &gloo::sum<float>));
            options.setTag(tag);
            gloo::allreduce(options);
          });
        },
        limits,
        "all-reduce");
    if (done.ok()) std::copy(own->begin(), own->end(), floats.begin());
    return done;
  }

  Outcome do_barrier(const Limits& limits) override {
    if (!context_) return Outcome::done();
    return thread_->run(
        [context = context_, tag = ++tag_] {
          return translated([&] {
            gloo::BarrierOptions options(context);
            options.setTag(tag);
            gloo::barrier(options);
          });
        },
        limits,
        "barrier");
  }

  void close() override {
    thread_.reset();
    context_.reset();
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;  ///< Null in a group of one.
  std::unique_ptr<ErrandThread> thread_;
  std::uint32_t tag_ = 0;
};

}  // namespace

std::unique_ptr<Collective> make_gloo_collective(const CollectiveTimes& times) {
  // Gloo writes to its peers without MSG_NOSIGNAL: one that died must not end this process.
  std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<GlooCollective>(times);
}

Backend gloo_backend() {
  return {"gloo", [](const Options& options, Compute&) -> Result<std::unique_ptr<Collective>> {
            return make_gloo_collective(options.times);
          }};
}

}  // namespace orrery::worker
