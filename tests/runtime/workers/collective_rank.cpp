// One rank of a collective, driven by its test over standard input:
//
//   build GENERATION RANK WORLD_SIZE PORT     reduce FLOATS     barrier     cancel GENERATION
//
// Each but `cancel`, which is carried out at once, answers in one line: the kind of its outcome,
// and for `reduce` whether the sums are right, else the reason.
#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/workers/ring_collective.hpp"
#ifdef ORRERY_HAS_GLOO
#include "runtime/workers/gloo/gloo_collective.hpp"
#endif

namespace orrery::worker {
namespace {

std::unique_ptr<Collective> make(const std::string& backend, const CollectiveTimes& times) {
#ifdef ORRERY_HAS_GLOO
  if (backend == "gloo") return make_gloo_collective(times);
#endif
  return backend == "ring" ? std::make_unique<RingCollective>(times) : nullptr;
}

/// Commands from the reader to the thread that carries them out.
class Queue {
 public:
  void put(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }

  std::string take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !lines_.empty(); });
    std::string out = std::move(lines_.front());
    lines_.pop_front();
    return out;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
};

std::string text_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case OutcomeKind::Done:
      return "Done";
    case OutcomeKind::PeerLost:
      return "PeerLost " + outcome.reason;
    case OutcomeKind::TimedOut:
      return "TimedOut " + outcome.reason;
    case OutcomeKind::Cancelled:
      return "Cancelled " + outcome.reason;
    case OutcomeKind::Fatal:
      return "Fatal " + outcome.reason;
  }
  return "?";
}

/// Small whole numbers, so that the sum is exact in any order.
float brought_by(std::int32_t rank, std::size_t index) {
  return static_cast<float>(rank + 1) + static_cast<float>(index % 7);
}

std::string reduce(Collective& collective, const Group& group, std::size_t count) {
  std::vector<float> floats(count);
  for (std::size_t i = 0; i < count; ++i) floats[i] = brought_by(group.rank, i);
  const Outcome done = collective.all_reduce(floats);
  if (!done.ok()) return text_of(done);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::int32_t rank = 0; rank < group.world_size; ++rank) sum += brought_by(rank, i);
    if (floats[i] != sum) return "wrong at " + std::to_string(i) + ": " + std::to_string(floats[i]);
  }
  return "Done right";
}

void carry_out(Collective& collective, Queue& queue) {
  Group group;
  for (std::string line = queue.take(); !line.empty(); line = queue.take()) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    std::string answer;
    if (verb == "build") {
      words >> group.meeting.generation >> group.rank >> group.world_size >>
          group.meeting.place.port;
      group.meeting.job = "default.test";
      group.meeting.place.address = "127.0.0.1";
      answer = text_of(collective.rebuild(group));
    } else if (verb == "reduce") {
      std::size_t count = 0;
      words >> count;
      answer = reduce(collective, group, count);
    } else {
      answer = text_of(collective.barrier());
    }
    std::cout << answer << std::endl;
  }
}

}  // namespace
}  // namespace orrery::worker

int main(int argc, char** argv) {
  using orrery::worker::Milliseconds;
  if (argc != 4) return 2;
  const auto collective = orrery::worker::make(
      argv[1], {Milliseconds(std::stol(argv[2])), Milliseconds(std::stol(argv[3]))});
  if (!collective) return 3;
  orrery::worker::Queue queue;
  std::thread hands([&] { orrery::worker::carry_out(*collective, queue); });
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("cancel "))
      collective->cancel_before(std::stoull(line.substr(7)));
    else
      queue.put(line);
  }
  queue.put({});
  hands.join();
}
