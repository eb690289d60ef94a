#include "runtime/forecast/serve_forecasts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error_text.hpp"
#include "core/record/version.hpp"
#include "runtime/forecast/forecast_frames.hpp"
#include "runtime/forecast/huge_heap.hpp"
#include "runtime/planner/child_side.hpp"

namespace orrery::runtime {
namespace {

enum ExitCodes : int { kEnd = 0, kBadWord = 2, kFailed = 3 };

// A state in memory, what the world of a run has, and what the run allocates take about so many
// times the state's bytes.
constexpr std::size_t kHeapPerByte = 12;

// Whatever else runs on the controller's machine goes first.
constexpr int kNiceness = 5;

/// What is said where memory runs out: made beforehand, for then nothing can be made.
struct LastWord {
  int fd = -1;
  std::vector<std::byte> frame;
};

LastWord last_word;  // A new-handler takes no argument.

[[noreturn]] void say_last_word() {
  (void)write_all(last_word.fd, last_word.frame);
  ::_exit(kFailed);
}

void prepare_last_word(int fd) {
  ByteWriter out;
  {
    const FrameWriter failed(out, FrameKind::Failed);
    out.string(kOutOfMemory);
  }
  last_word = {fd, {out.bytes().begin(), out.bytes().end()}};
  std::set_new_handler(say_last_word);
}

/// What a run needs, if not more than half of what it may have.
std::size_t heap_of(const Begin& begin) {
  const std::size_t likely = begin.state.size() * kHeapPerByte;
  const std::int64_t most = begin.memory.count / 2;
  return most > 0 ? std::min(likely, static_cast<std::size_t>(most)) : likely;
}

/// One state, and questions about it.
class Served {
 public:
  Served(int fd, const AnswerForecast& answer) : fd_(fd), answer_(answer) {}

  bool begin(std::vector<std::byte> frame) {
    frame_ = std::move(frame);
    ByteReader in(frame_);
    Begin begin;
    if (!read_begin(in, begin)) return fail("another version of the protocol");
    limit_memory(begin.memory);
    use_huge_heap(heap_of(begin));
    policy_ = begin.policy;
    state_ = begin.state;
    if (!load()) return fail("the state of the controller cannot be read");
    out_.clear();
    { const FrameWriter ready(out_, FrameKind::Ready); }
    return write_all(fd_, out_.bytes());
  }

  bool ask(ByteReader in) {
    ForecastQuestion question;
    if (!read_question(in, question)) return fail("a question cannot be read");
    if (!loaded_ && !load()) return fail("the state of the controller cannot be read");
    loaded_ = false;
    const auto answer = answer_(std::move(controller_), policy_, question);
    if (!answer) return fail(text_of(answer.errors()));
    out_.clear();
    write_forecast_answer(out_, *answer);
    return write_all(fd_, out_.bytes());
  }

  bool fail(std::string_view why) { return tell_failure(fd_, out_, why); }

 private:
  // Each answer takes the controller. Nearly always there is one, so nothing is copied for others.
  bool load() {
    controller_ = Controller();
    ByteReader state(state_);
    loaded_ = controller_.load(state, kRecordVersion) && state.finished();
    return loaded_;
  }

  int fd_;
  const AnswerForecast& answer_;
  std::vector<std::byte> frame_;  ///< In which the state is.
  std::span<const std::byte> state_;
  bool loaded_ = false;
  Controller controller_;
  PolicySpec policy_;
  ByteWriter out_;
};

int serve(int fd, Served& served) {
  std::vector<std::byte> payload;
  while (true) {
    FrameHead head;
    if (!read_head(fd, head)) return kEnd;
    // The limit of memory is not known yet, but without room for the frame there is none for it.
    if (head.kind == static_cast<std::uint8_t>(FrameKind::Begin)) use_huge_heap(head.size);
    if (!read_payload(fd, head, payload)) return kEnd;
    bool good = false;
    if (head.kind == static_cast<std::uint8_t>(FrameKind::Begin))
      good = served.begin(std::exchange(payload, {}));
    else if (head.kind == static_cast<std::uint8_t>(FrameKind::Ask))
      good = served.ask(ByteReader(payload));
    if (!good) return kBadWord;
  }
}

}  // namespace

int serve_forecasts(int fd, const AnswerForecast& answer) {
  settle_in();
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  prepare_last_word(fd);
  Served served(fd, answer);
  try {
    return serve(fd, served);
  } catch (const std::exception& error) {
    served.fail(error.what());
  }
  return kFailed;
}

}  // namespace orrery::runtime
