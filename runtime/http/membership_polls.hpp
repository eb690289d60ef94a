// Workers that wait for the next generation of their job.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/http/api.hpp"

namespace orrery::http {

/// Long polls for memberships. One subscription and one look at the state serve all clients that
/// wait for a job. On the I/O thread, but for `start` and `stop`.
class MembershipPolls : public std::enable_shared_from_this<MembershipPolls> {
 public:
  explicit MembershipPolls(ControlClient client) : client_(std::move(client)) {}

  /// Begins to listen; once.
  void start();

  /// Listens no longer.
  void stop() { subscription_.reset(); }

  /// Answers with the membership of the job as soon as its generation is above `generation`, or it
  /// is over; 204 after `timeout`, 404 where there is no such job.
  void wait(CallPtr call, std::string job, Generation generation, Duration timeout);

 private:
  struct Poll {
    CallPtr call;
    Generation generation;
    std::shared_ptr<void> timer;
  };

  struct Waiting {
    JobId job;                            ///< None until the first look has found it.
    std::map<std::uint64_t, Poll> polls;  ///< By number, in order of arrival.
  };

  void note(JobId changed);
  void on_changes();
  void found(const std::string& name, JobId job);
  void look(const std::string& job);
  void answer(
      const std::string& job, bool known, bool over, Generation now, const std::string& body);
  void send_elsewhere(const std::string& job);
  void give_up(const std::string& job, std::uint64_t number);

  ControlClient client_;
  std::unique_ptr<runtime::Subscription> subscription_;
  std::map<std::string, Waiting> waiting_;  ///< By job.
  std::uint64_t next_number_ = 0;
  std::mutex mutex_;         ///< Of what follows.
  std::set<JobId> changed_;  ///< Since the last look; none: all of them.
  bool look_due_ = false;    ///< A look at what has changed is on its way.
};

}  // namespace orrery::http
