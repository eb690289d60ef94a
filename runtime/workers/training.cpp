#include "runtime/workers/training.hpp"

#include <csignal>
#include <ostream>

#include "runtime/workers/checkpoint.hpp"

namespace orrery::worker {
namespace {

// Step times that are kept for the report.
constexpr std::size_t kTimesMax = 100'000;
// A float holds whole numbers up to 2^24: a step's number travels in two.
constexpr std::int64_t kHalf = 1 << 20;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

class Training {
 public:
  Training(const Options& options, const Place& place, const TrainingParts& parts)
      : options_(options), place_(place), parts_(parts) {}

  TrainingReport run() {
    if (!resume()) return std::move(report_);
    if (finished())
      parts_.log << "nothing to do: " << step_ << " of " << options_.steps << " steps are done\n";
    while (!over_ && !finished()) {
      if (parts_.drain.asked() != 0)
        drain();
      else if (!in_group_)
        join();
      else
        step();
    }
    report_.steps_done = step_;
    report_.generation = place_.generation;
    report_.world_size = place_.world_size;
    parts_.log.flush();
    return std::move(report_);
  }

 private:
  /// All steps are done, and all ranks know it.
  bool finished() {
    if (options_.steps == 0 || step_ < options_.steps) return false;
    if (!in_group_) return report_.builds == 0;
    // A rank that leaves closes its connections: not before all have the last sum. A new generation
    // wants this rank once more; a peer that is gone already does not.
    const Outcome together = parts_.collective.barrier();
    in_group_ = false;
    return together.kind != OutcomeKind::Cancelled;
  }

  bool resume() {
    if (options_.checkpoint.empty()) return true;
    const Result<std::int64_t> step = read_checkpoint(options_.checkpoint);
    if (!step) {
      fail(kExitBadInput, step.errors().front().text());
      return false;
    }
    step_ = report_.steps_resumed = *step;
    if (step_ > 0) parts_.log << "resumed at step " << step_ << std::endl;
    return true;
  }

  /// Builds the group of the newest membership, and agrees where to go on.
  void join() {
    if (!take_membership()) return;
    Group group;
    group.meeting = {place_.job, place_.generation, {{}, place_.master_port}};
    if (place_.world_size > 1) {
      Result<std::string> master = parts_.resolve(place_.master_address);
      if (!master) return fail(kExitFailed, master.errors().front().text());
      group.meeting.place.address = std::move(master).value();
    }
    group.rank = place_.rank;
    group.world_size = place_.world_size;
    const auto start = SteadyClock::now();
    // Peers may never come; a worker that is asked to stop does not wait for them.
    parts_.drain.on_asked([this] { parts_.collective.cancel_before(place_.generation + 1); });
    Outcome joined = parts_.collective.rebuild(group);
    parts_.drain.on_asked({});
    if (joined.ok()) joined = agree_on_step();
    if (!joined.ok()) return lost(joined);
    in_group_ = true;
    ++report_.builds;
    parts_.log << "generation " << place_.generation << ": rank " << place_.rank << " of "
               << place_.world_size << ", " << parts_.collective.name() << " on "
               << parts_.compute.name() << ", built in " << seconds_since(start) * 1e3
               << " ms, at step " << step_ << std::endl;
  }

  /// Takes the newest membership that was heard. False: this worker is no member of it.
  bool take_membership() {
    const auto said = parts_.agent == nullptr ? std::nullopt : parts_.agent->membership();
    if (!said || said->generation <= place_.generation) return true;
    if (said->rank < 0) {
      // The agent is about to stop this worker.
      if (parts_.drain.wait(options_.membership_timeout) == 0)
        fail(kExitFailed,
             "is no member of generation " + std::to_string(said->generation) +
                 ", and no agent stops it");
      return false;
    }
    place_.generation = said->generation;
    place_.rank = said->rank;
    place_.world_size = said->world_size;
    place_.master_address = said->master_address;
    place_.master_port = said->master_port;
    return true;
  }

  /// The most advanced rank's step is everybody's. (A trainer with weights would take them from it;
  /// here the first sum makes all ranks' matrices equal again.) All must sum up equally many
  /// floats.
  Outcome agree_on_step() {
    constexpr std::size_t kEach = 3;  // The step in two halves, the size.
    const auto ranks = static_cast<std::size_t>(place_.world_size);
    std::vector<float> said(kEach * ranks);
    float* own = &said[kEach * static_cast<std::size_t>(place_.rank)];
    own[0] = static_cast<float>(step_ / kHalf);
    own[1] = static_cast<float>(step_ % kHalf);
    own[2] = static_cast<float>(options_.size);
    Outcome agreed = reduce_on_host(said);
    for (std::size_t i = 0; agreed.ok() && i < ranks; ++i) {
      const float* theirs = &said[kEach * i];
      step_ = std::max(
          step_,
          static_cast<std::int64_t>(theirs[0]) * kHalf + static_cast<std::int64_t>(theirs[1]));
      if (theirs[2] != static_cast<float>(options_.size))
        agreed = Outcome::fatal("rank " + std::to_string(i) + " has --size " +
                                std::to_string(static_cast<int>(theirs[2])) + ", this rank " +
                                std::to_string(options_.size) + "; give all the same");
    }
    return agreed;
  }

  /// All-reduce of floats of the host, through the device where the collective wants them there.
  Outcome reduce_on_host(std::span<float> floats) {
    if (!parts_.collective.takes_device_memory()) return parts_.collective.all_reduce(floats);
    const std::span<float> product = parts_.compute.product();
    if (product.size() < floats.size())
      return Outcome::fatal("--size " + std::to_string(options_.size) + " is too small for " +
                            std::to_string(place_.world_size) + " ranks");
    Outcome done = parts_.compute.write_product(floats);
    if (done.ok()) done = parts_.collective.all_reduce(product.first(floats.size()));
    if (done.ok()) done = parts_.compute.read_product(floats);
    return done;
  }

  /// All-reduce of the product, through the host where it must be.
  Outcome reduce_product() {
    Compute& compute = parts_.compute;
    if (parts_.collective.takes_device_memory() || compute.stream() == nullptr)
      return parts_.collective.all_reduce(compute.product());
    staged_.resize(compute.product().size());
    Outcome done = compute.read_product(staged_);
    if (done.ok()) done = parts_.collective.all_reduce(staged_);
    if (done.ok()) done = compute.write_product(staged_);
    return done;
  }

  void step() {
    const auto start = SteadyClock::now();
    Outcome done = parts_.compute.multiply();
    const double multiply_s = seconds_since(start);
    if (done.ok()) done = reduce_product();
    if (done.ok()) done = parts_.compute.share(place_.world_size);
    if (!done.ok()) return lost(done);
    ++step_;
    note_times(seconds_since(start), multiply_s);
    const auto spent = std::chrono::floor<Milliseconds>(SteadyClock::now() - start);
    if (spent < options_.step_time_min) parts_.drain.wait(options_.step_time_min - spent);
    window_s_ += seconds_since(start);
    ++window_steps_;
    if (step_ % options_.report_every == 0) report();
    const bool last = options_.steps != 0 && step_ == options_.steps;
    if (last || step_ % options_.checkpoint_every == 0) save();
  }

  void note_times(double step_s, double multiply_s) {
    if (report_.step_times_s.size() >= kTimesMax) return;
    report_.step_times_s.push_back(step_s);
    report_.multiply_times_s.push_back(multiply_s);
  }

  void report() {
    const double step_s = window_s_ / static_cast<double>(window_steps_);
    window_s_ = 0;
    window_steps_ = 0;
    rate_ = 1 / step_s;
    const std::int64_t batch = std::int64_t{options_.size} * place_.world_size;
    if (parts_.agent != nullptr)
      parts_.agent->say(profiling_line({step_s, static_cast<double>(batch) / step_s, batch}));
    parts_.log << "step " << step_;
    if (options_.steps != 0) parts_.log << "/" << options_.steps;
    parts_.log << "  generation " << place_.generation << "  rank " << place_.rank << "/"
               << place_.world_size << "  " << step_s * 1e3 << " ms a step" << std::endl;
  }

  /// Every few steps: are the numbers sane, and rank 0 saves.
  void save() {
    const Outcome sane = check_shared();
    if (!sane.ok()) return fail(kExitFailed, sane.reason);
    if (place_.rank == 0) write();
  }

  Outcome check_shared() {
    staged_.resize(parts_.compute.product().size());
    Outcome read = parts_.compute.read_shared(staged_);
    if (!read.ok()) return read;
    report_.shared = digest_of(staged_);
    return check_entries(staged_);
  }

  void write() {
    if (options_.checkpoint.empty()) return;
    const Status written = write_checkpoint(options_.checkpoint, step_, place_.rank);
    if (!written) {
      parts_.log << written.errors().front().text() << std::endl;
      return;
    }
    if (parts_.agent != nullptr)
      parts_.agent->say(progress_line({static_cast<double>(step_), rate_, true}));
  }

  /// The step that was under way is not counted. Waits for the next generation, where an agent
  /// could tell of one.
  void lost(const Outcome& outcome) {
    in_group_ = false;
    parts_.collective.leave();
    if (outcome.kind == OutcomeKind::Fatal) return fail(kExitFailed, outcome.reason);
    parts_.log << "generation " << place_.generation << " is over: " << outcome.reason << std::endl;
    if (parts_.agent == nullptr) {
      if (parts_.drain.asked() == 0)
        fail(kExitFailed, outcome.reason + "; no agent tells of another generation");
      return;
    }
    const Deadline deadline = Deadline::in(options_.membership_timeout);
    while (parts_.drain.asked() == 0) {
      const auto said = parts_.agent->membership();
      if (said && said->generation > place_.generation) return;
      if (deadline.passed())
        return fail(kExitFailed,
                    outcome.reason + "; the agent told of no other generation in time");
      parts_.drain.wait(Milliseconds(5));
    }
  }

  void drain() {
    over_ = true;
    in_group_ = false;
    parts_.collective.leave();
    write();
    report_.exit_code = parts_.drain.asked() == SIGINT ? kExitInterrupted : kExitDrained;
    report_.reason = "asked to stop";
    parts_.log << "asked to stop: leaves at step " << step_ << std::endl;
  }

  void fail(int exit_code, std::string reason) {
    over_ = true;
    report_.exit_code = exit_code;
    report_.reason = std::move(reason);
  }

  const Options& options_;
  Place place_;
  const TrainingParts& parts_;
  TrainingReport report_;
  std::int64_t step_ = 0;
  bool in_group_ = false;
  bool over_ = false;
  double window_s_ = 0;  ///< Since the last report, with the wait that pads short steps.
  std::int64_t window_steps_ = 0;
  double rate_ = 0;  ///< Steps per second.
  std::vector<float> staged_;
};

}  // namespace

TrainingReport train(const Options& options, const Place& place, const TrainingParts& parts) {
  return Training(options, place, parts).run();
}

}  // namespace orrery::worker
