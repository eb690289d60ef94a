#include "runtime/launch/relaunch_runner.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "runtime/launch/watched_process.hpp"

namespace orrery::runtime {
namespace {

/// The last line that is not empty.
std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t begin = text.rfind('\n');
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

/// Why none was replaced, in words; empty where the program ended well.
std::string failure(const ProcessEnd& end, const std::string& program, Duration timeout) {
  switch (end.kind) {
    case ProcessEnd::Kind::NotStarted:
      return "relaunch_command " + program + " cannot be run: " + end.complaint;
    case ProcessEnd::Kind::TimedOut:
      return "relaunch_command " + program + " was killed after " +
             std::to_string(timeout.ns / 1'000'000'000) + " s without an answer";
    case ProcessEnd::Kind::TooTalkative:
      return "relaunch_command " + program + " was killed: it printed more than 1 MiB";
    case ProcessEnd::Kind::Stopped:
      return "the controller ends";
    case ProcessEnd::Kind::Exited:
      break;
  }
  if (end.status == 0) return {};
  const std::string said = last_line(end.complaint);
  return "relaunch_command " + program + " ended with code " + std::to_string(end.status) +
         (said.empty() ? "" : ": " + said);
}

/// The words of `output`, all of which must be among `asked`; an unknown one is told in `error`.
std::vector<std::string> names_in(const std::string& output,
                                  const std::vector<std::string>& asked,
                                  const std::string& program,
                                  std::string& error) {
  std::vector<std::string> names;
  std::istringstream words(output);
  for (std::string word; words >> word;) {
    if (std::find(asked.begin(), asked.end(), word) == asked.end()) {
      error = "relaunch_command " + program + " printed '" + word.substr(0, 100) +
              "', which is no node that was asked for; print the names of replaced nodes only";
      return {};
    }
    if (std::find(names.begin(), names.end(), word) == names.end()) names.push_back(word);
  }
  return names;
}

}  // namespace

RelaunchRunner::RelaunchRunner(std::vector<std::string> command) : command_(std::move(command)) {}

RelaunchRunner::~RelaunchRunner() { stop(); }

void RelaunchRunner::run(const std::vector<std::string>& nodes,
                         const std::string& description,
                         Duration timeout,
                         Done done) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  forget_ended();
  if (runs_.size() >= kAtOnceMax) {
    lock.unlock();
    return done({}, std::to_string(kAtOnceMax) + " runs of relaunch_command are under way already");
  }
  std::vector<std::string> words = command_;
  words.insert(words.end(), nodes.begin(), nodes.end());
  auto ended = std::make_shared<std::atomic<bool>>(false);
  runs_.push_back(
      {std::thread([this, words, nodes, description, timeout, ended, done = std::move(done)] {
         const ProcessEnd end =
             run_watched(words, timeout, stopping_, {"ORRERY_RELAUNCH=" + description});
         const std::string program = words.empty() ? "" : words.front();
         std::string error = failure(end, program, timeout);
         std::vector<std::string> replaced;
         if (error.empty()) replaced = names_in(end.output, nodes, program, error);
         if (!stopping_) done(std::move(replaced), std::move(error));
         *ended = true;
       }),
       ended});
}

void RelaunchRunner::forget_ended() {
  for (Run& run : runs_)
    if (*run.ended) run.thread.join();
  std::erase_if(runs_, [](const Run& run) { return !run.thread.joinable(); });
}

void RelaunchRunner::stop() {
  stopping_ = true;
  std::vector<Run> runs;
  {
    const std::lock_guard lock(mutex_);
    runs.swap(runs_);
  }
  for (Run& run : runs) run.thread.join();
}

}  // namespace orrery::runtime
