#include "runtime/planner/serve_plans.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/control/state_view.hpp"
#include "core/driver/planner.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

enum ExitCodes : int { kEnd = 0, kBadWord = 2, kPolicyFailed = 3 };

constexpr std::size_t kToldMax = 400;

// A sanitizer reserves terabytes of addresses for its shadow, and can then reserve no more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAddressesAreMemory = false;
#else
constexpr bool kAddressesAreMemory = true;
#endif

bool read_all(int fd, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::recv(fd, to.data(), to.size(), 0);
    if (got > 0)
      to = to.subspan(static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      return false;
  }
  return true;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno != EINTR)
      return false;
  }
  return true;
}

// The process ends with its controller, and before it where memory runs out; it leaves no core.
void settle_in() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    (void)!::write(fd, "500", 3);
    ::close(fd);
  }
}

void limit_memory(Bytes memory) {
  if (memory.count <= 0 || !kAddressesAreMemory) return;
  const auto most = static_cast<rlim_t>(memory.count);
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// One policy on a state that follows the controller's.
class Served {
 public:
  Served(int fd, const MakePolicy& make) : fd_(fd), make_(make) {}

  /// False: the policy cannot begin; why was told.
  bool begin(ByteReader in) {
    Begin begin;
    if (!read_begin(in, begin)) return fail("another version of the planner's protocol");
    limit_memory(begin.memory);
    ByteReader state(begin.state);
    if (!controller_.load(state, kRecordVersion) || !state.finished())
      return fail("the state of the controller cannot be read");
    auto made = make_(begin.policy);
    if (!made) return fail(made.errors()[0].text());
    policy_ = std::move(*made);
    if (!begin.saved.empty()) {
      ByteReader saved(begin.saved);
      policy_->load(saved);
    }
    out_.clear();
    { const FrameWriter ready(out_, FrameKind::Ready); }
    return write_all(fd_, out_.bytes());
  }

  bool follow(ByteReader in) {
    while (in.ok() && in.remaining() > 0) {
      ByteReader record(in.string());
      Event event;
      if (!decode(record, kRecordVersion, event) || !record.finished())
        return fail("a record cannot be read");
      unused_.clear();
      controller_.step(event, unused_);
      while (controller_.take_plan_request()) continue;  // The controller asks.
    }
    return in.ok();
  }

  bool answer(ByteReader in) {
    PlanRequest request;
    if (!read_ask(in, request) || policy_ == nullptr) return fail("a question cannot be read");
    if (controller_.state().sequence != request.view)
      return fail("its state is that after record " +
                  std::to_string(controller_.state().sequence.value) + ", not " +
                  std::to_string(request.view.value));
    const Touched touched = controller_.take_touched();
    const StateView view(controller_.state(), touched.jobs, touched.complete);
    Answer answer{request.view, run_policy(*policy_, request, view), std::nullopt};
    if (request.trigger != PlanTrigger::Submission) answer.saved = saved_by(*policy_);
    out_.clear();
    write_answer(out_, answer);
    return write_all(fd_, out_.bytes());
  }

  /// Tells the controller, as far as it still listens; false.
  bool fail(std::string_view why) {
    out_.clear();
    {
      const FrameWriter failed(out_, FrameKind::Failed);
      out_.string(why.substr(0, kToldMax));
    }
    (void)write_all(fd_, out_.bytes());
    return false;
  }

 private:
  int fd_;
  const MakePolicy& make_;
  Controller controller_;
  Commands unused_;
  std::unique_ptr<Policy> policy_;
  ByteWriter out_;
};

int serve(int fd, Served& served) {
  std::vector<std::byte> payload;
  while (true) {
    std::array<std::byte, kFrameHead> bytes{};
    if (!read_all(fd, bytes)) return kEnd;
    const FrameHead head = read_head(bytes);
    payload.resize(head.size);
    if (!read_all(fd, payload)) return kEnd;
    bool good = false;
    switch (static_cast<FrameKind>(head.kind)) {
      case FrameKind::Begin:
        good = served.begin(ByteReader(payload));
        break;
      case FrameKind::Records:
        good = served.follow(ByteReader(payload));
        break;
      case FrameKind::Ask:
        good = served.answer(ByteReader(payload));
        break;
      default:
        break;
    }
    if (!good) return kBadWord;
  }
}

}  // namespace

int serve_plans(int fd, const MakePolicy& make) {
  settle_in();
  Served served(fd, make);
  try {
    return serve(fd, served);
  } catch (const std::exception& error) {
    served.fail(error.what());
  } catch (...) {
    served.fail("it threw what is no std::exception");
  }
  return kPolicyFailed;
}

}  // namespace orrery::runtime
