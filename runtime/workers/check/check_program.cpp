#include "runtime/workers/check/check_program.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/workers/agent_link.hpp"
#include "runtime/workers/check/check_rounds.hpp"
#include "runtime/workers/option_rows.hpp"

namespace orrery::worker {
namespace {

constexpr int kExitCannotRun = 127;
// How long the blame may take to reach the agent.
constexpr Milliseconds kFarewell{2000};
// A rank that lost its peers is ended by its agent, as the controller decides; it waits so long for
// that, since its own end would be another failure.
constexpr Milliseconds kUntilEnded{60'000};
// Rank 0's meeting place has room for so many.
constexpr std::int32_t kRanksMax = 4096;

struct CheckOptions {
  std::int32_t size = 0;  ///< 0: the program's.
  CheckWork work;
  std::string backend = "auto";
  std::string nccl_library;
  Milliseconds deadline{300'000};
  bool slow_fails = false;
  bool help = false;
};

using Row = OptionRow<CheckOptions>;

std::span<const Row> rows() {
  static const std::array<Row, 9> kRows = {{
      {"--size",
       "M",
       "rows and columns of the matrices (as below)",
       Row::whole_number(&CheckOptions::size, 16, 16384)},
      {"--products",
       "N",
       "products of each round (8)",
       [](CheckOptions& options, std::string_view text) -> std::optional<std::string> {
         const auto value = parsed_number<std::int32_t>(text);
         if (!value || *value < 1 || *value > 10'000) return "needs a whole number from 1 to 10000";
         options.work.products = *value;
         return std::nullopt;
       }},
      {"--slow-factor",
       "F",
       "a rank is slow that takes longer than F times the lower median (2)",
       [](CheckOptions& options, std::string_view text) -> std::optional<std::string> {
         const auto value = parsed_number<double>(text);
         if (!value || !(*value > 1 && *value <= 1000))
           return "needs a number above 1, at most 1000";
         options.work.slow_factor = *value;
         return std::nullopt;
       }},
      {"--slow-fails",
       "",
       "a slow rank has failed; without it that is only told",
       Row::flag(&CheckOptions::slow_fails)},
      {"--backend",
       "NAME",
       "collectives: auto or one of those below (auto)",
       Row::text(&CheckOptions::backend)},
      {"--nccl-library",
       "FILE",
       "libnccl.so.2, where it is not in the usual places",
       Row::text(&CheckOptions::nccl_library)},
      {"--deadline",
       "TIME",
       "all of it, and each product, such as 90s (5m)",
       Row::time([](CheckOptions& options, Milliseconds value) { options.deadline = value; })},
      {"--help", "", "this text", Row::flag(&CheckOptions::help)},
      {"-h", "", "", Row::flag(&CheckOptions::help)},
  }};
  return kRows;
}

std::string help_text(const CheckProgram& program) {
  const std::string name(program.name);
  std::string backends;
  for (const Backend& backend : program.backends)
    backends.append(backends.empty() ? "" : ", ").append(backend.name);
  return "Usage: " + name +
         " [OPTIONS] [-- COMMAND [ARG...]]\n\n"
         "Checks the device of this worker and the way to its peers, and then becomes COMMAND.\n"
         "Products of matrices must have the same bits each time, and the same numbers on all\n"
         "ranks; sums over groups of two, in two rounds with different partners, must be right.\n"
         "A rank that fails says that its node is at fault: the node is charged, and the worker\n"
         "starts elsewhere. Its place comes from the environment (ORRERY_RANK or RANK,\n"
         "ORRERY_WORLD_SIZE or WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK); alone, or in a\n"
         "later generation, it checks its device alone.\n\n"
         "Options:\n" +
         option_lines(rows()) + "\nMatrices: " + std::to_string(program.size) + " x " +
         std::to_string(program.size) + ". Backends, as auto tries them: " + backends +
         "\n\nExamples:\n  " + name + "\n  " + name +
         " -- python3 -c 'print(\"trains\")'\n"
         "  for r in 0 1; do ORRERY_RANK=$r ORRERY_WORLD_SIZE=2 MASTER_PORT=22270 \\\n    " +
         name +
         " & done; wait\n\n"
         "Exit: that of COMMAND; 1 the check failed; 127 COMMAND cannot be run; 2 bad input.\n";
}

int refuse(const CheckProgram& program, const Errors& errors) {
  for (const Error& error : errors) std::cerr << program.name << ": " << error.text() << "\n";
  return kExitBadInput;
}

/// Tells the agent whose fault the end is that follows.
void blame_node(const Start& start, const std::string& message) {
  if (start.socket.empty()) return;
  AgentLink agent(start.socket, start.worker, start.token, [](const MembershipSaid&) {});
  agent.say(node_diagnosis_line(message));
  agent.flush(kFarewell);
}

/// A device that never ends a product holds its thread for good: another one blames the node and
/// ends the process.
class WatchedCompute final : public Compute {
 public:
  WatchedCompute(Compute& inner, Milliseconds limit, std::function<void()> late)
      : inner_(inner), limit_(limit), late_(std::move(late)), watch_([this] { watch(); }) {}

  ~WatchedCompute() override {
    set(State::Over);
    watch_.join();
  }

  std::string name() const override { return inner_.name(); }

  std::int32_t size() const override { return inner_.size(); }

  Outcome multiply() override {
    set(State::Busy);
    Outcome done = inner_.multiply();
    set(State::Idle);
    return done;
  }

  std::span<float> product() override { return inner_.product(); }

  DeviceStream* stream() override { return inner_.stream(); }

  Outcome read_product(std::span<float> out) override { return inner_.read_product(out); }

  Outcome write_product(std::span<const float> in) override { return inner_.write_product(in); }

  Outcome share(std::int32_t ranks) override { return inner_.share(ranks); }

  Outcome read_shared(std::span<float> out) override { return inner_.read_shared(out); }

 private:
  enum class State : std::uint8_t { Idle, Busy, Over };

  void set(State state) {
    const std::scoped_lock lock(mutex_);
    state_ = state;
    ++changes_;
    changed_.notify_one();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (state_ != State::Over) {
      const std::uint64_t seen = changes_;
      const auto changed = [&] { return changes_ != seen; };
      if (state_ == State::Idle)
        changed_.wait(lock, changed);
      else if (!changed_.wait_for(lock, limit_, changed))
        late_();
    }
  }

  Compute& inner_;
  const Milliseconds limit_;
  const std::function<void()> late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::Idle;
  std::uint64_t changes_ = 0;
  std::thread watch_;
};

/// One rank's check, from its environment to its end.
class Check {
 public:
  Check(const CheckProgram& program, const CheckOptions& asked, const Start& start)
      : program_(program), asked_(asked), start_(start) {
    options_.size = asked.size == 0 ? program.size : asked.size;
    options_.backend = asked.backend;
    options_.nccl_library = asked.nccl_library;
    options_.times = {asked.deadline, asked.deadline};
  }

  /// Whether the worker's program may start; otherwise everything has been said.
  bool passes() {
    // All ranks compute the same.
    Start first = start_;
    first.place.rank = 0;
    Result<std::unique_ptr<Compute>> compute = program_.make_compute(options_, first);
    if (!compute) return fails(compute.errors().front().text());
    WatchedCompute watched(**compute, asked_.deadline, [this] {
      (void)fails("a product of matrices took longer than " +
                  std::to_string(asked_.deadline.count()) + " ms");
      std::cerr.flush();
      ::_exit(kExitFailed);
    });
    Result<std::unique_ptr<Collective>> made =
        make_collective(program_.backends, options_, watched, std::cerr);
    if (!made) {
      tell(made.errors().front().text());
      return false;
    }
    const auto begin = SteadyClock::now();
    const bool passed = with({watched, **made});
    if (passed)
      tell("passed in " +
           std::to_string(std::chrono::ceil<Milliseconds>(SteadyClock::now() - begin).count()) +
           " ms (" + watched.name() + (checked_peers_ ? ", " + std::string((*made)->name()) : "") +
           ")");
    return passed;
  }

 private:
  bool with(const CheckParts& parts) {
    const Place& place = start_.place;
    // Survivors of an earlier generation train already.
    if (place.world_size == 1 || place.generation > 1 || place.world_size > kRanksMax) {
      Duration took;
      Digest digest;
      const Outcome device = check_device(parts, asked_.work, took, digest);
      return device.ok() || fails(device.reason);
    }
    const Result<std::string> master = program_.resolve(place.master_address);
    if (!master) {
      tell(master.errors().front().text());
      return false;
    }
    const Group group{{place.job + "/check", place.generation, {*master, place.master_port}},
                      place.rank,
                      place.world_size};
    const Cancel never;
    RankVerdict verdict;
    const Outcome together =
        check_together(group, parts, asked_.work, {Deadline::in(asked_.deadline), never}, verdict);
    if (!together.ok()) return waits_for_the_end(together.reason);
    checked_peers_ = true;
    switch (verdict.kind) {
      case RankVerdict::Kind::Passed:
        return true;
      case RankVerdict::Kind::Slow:
        if (asked_.slow_fails) return fails(verdict.why);
        tell("slow: " + verdict.why);
        return true;
      case RankVerdict::Kind::Abnormal:
        break;
    }
    return fails(verdict.why);
  }

  bool fails(const std::string& why) {
    tell("the node check failed: " + why);
    blame_node(start_, "node check: " + why);
    return false;
  }

  /// Another rank failed, and the controller hears of it.
  bool waits_for_the_end(const std::string& why) {
    tell("the node check was not ended: " + why);
    if (!start_.socket.empty()) std::this_thread::sleep_for(kUntilEnded);
    return false;
  }

  void tell(const std::string& what) const {
    std::cerr << program_.name << ": rank " << start_.place.rank << " of "
              << start_.place.world_size << ": " << what << std::endl;
  }

  const CheckProgram& program_;
  const CheckOptions& asked_;
  const Start& start_;
  Options options_;
  bool checked_peers_ = false;
};

int become(const CheckProgram& program, std::span<const char* const> command) {
  std::vector<char*> words;
  for (const char* word : command) words.push_back(const_cast<char*>(word));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::cerr << program.name << ": " << words[0] << ": cannot be run: " << std::strerror(errno)
            << "; give a program that is on this node" << std::endl;
  return kExitCannotRun;
}

}  // namespace

int run_check(const CheckProgram& program, std::span<const char* const> arguments) {
  std::size_t own = 0;
  while (own < arguments.size() && std::string_view(arguments[own]) != "--") ++own;
  CheckOptions options;
  Errors errors = take_options(rows(), arguments.first(own), options);
  if (options.help && errors.empty()) {
    std::cout << help_text(program);
    return kExitDone;
  }
  const bool known =
      options.backend == "auto" || std::ranges::any_of(program.backends, [&](const Backend& each) {
        return each.name == options.backend;
      });
  if (!known)
    errors.push_back(refused_option("--backend",
                                    "\"" + options.backend.substr(0, 100) +
                                        "\" is not in this build; --help lists those that are"));
  const Result<Start> start = start_of(process_environment);
  if (!start)
    for (const Error& error : start.errors()) errors.push_back(error);
  if (own + 1 == arguments.size())
    errors.push_back(
        refused_option("--", "no command stands behind it; give one, or leave it out"));
  if (!errors.empty()) return refuse(program, errors);
  if (!Check(program, options, *start).passes()) return kExitFailed;
  return own < arguments.size() ? become(program, arguments.subspan(own + 1)) : kExitDone;
}

}  // namespace orrery::worker
