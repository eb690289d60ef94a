#include "runtime/planner/serve_plans.hpp"

#include <exception>
#include <utility>
#include <vector>

#include "core/control/state_view.hpp"
#include "core/driver/planner.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

enum ExitCodes : int { kEnd = 0, kBadWord = 2, kPolicyFailed = 3 };

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
  bool fail(std::string_view why) { return tell_failure(fd_, out_, why); }

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
    FrameHead head;
    if (!read_frame(fd, head, payload)) return kEnd;
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
