// The workers of one node and their folders.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/result.hpp"
#include "runtime/agent/removals.hpp"
#include "runtime/agent/shim_process.hpp"
#include "runtime/agent/worker_record.hpp"

namespace orrery::runtime {

/// One worker that has ended.
struct WorkerEnd {
  WorkerRecord record;
  WorkerStatus status;
};

/// How long folders of workers stay whose job is over.
struct FolderLimits {
  std::size_t cleaned_max = 200;                   ///< Of jobs that are over; the oldest go first.
  Duration cleaned_age = Duration::seconds(3600);  ///< After the job was cleaned.
  std::size_t ended_max = 4096;  ///< Of jobs that are not; as the core keeps ends.
};

/// Starts, signals and watches the shims of a node's workers, and takes over those of an earlier
/// life. Ending this object ends no worker. Used by one thread.
class WorkerTable {
 public:
  /// `folder`: takes a folder for each worker; it exists. `shim_program`: absolute path.
  WorkerTable(std::string folder, std::string shim_program, const FolderLimits& limits = {});

  /// What an earlier life has left, for AgentRestarted. Living ones are in the table from now on.
  struct Found {
    std::vector<AgentWorker> living;
    std::vector<EndedWorker> ended;
    std::size_t strays = 0;  ///< Workers without a folder, which were killed.
  };

  /// `waits_for_hello`: whether that worker, whose program runs, is ready only once it says hello.
  Found adopt(const std::function<bool(const WorkerRecord&)>& waits_for_hello);

  /// Makes the worker's folder, empty but for `work`. Error: it is there or cannot be made.
  Status make_folder(const SpawnWorker& order);

  /// Starts the worker in the folder that was made for it. `token`: see WorkerRecord; `kept`: see
  /// ShimProcess::start.
  Status start(const SpawnWorker& order,
               const WorkerLaunch& launch,
               const std::string& token,
               std::span<const Descriptor> kept = {});

  /// Gives up a folder whose worker was never started; `reason` is kept there for people.
  /// `exit_code`: see WorkerStatus.
  void never_started(const SpawnWorker& order,
                     const std::string& reason,
                     std::int32_t exit_code = 0);

  /// Nothing happens where there is no such worker.
  void signal(const SignalWorker& order);

  void signal_all(WorkerSignal signal);

  /// Whether the worker was killed and the kernel alone holds what is left of it.
  bool is_stuck(const WorkerName& worker) const;

  /// A worker has a new place.
  void told(const TellMembership& order, const WorkerSlot& slot);

  /// A worker has said hello. True at its first.
  bool said_hello(const WorkerName& worker);

  /// A worker takes calls at `port`. Its record afterwards; null where it does not live.
  const WorkerRecord* takes_calls(const WorkerName& worker,
                                  std::int32_t port,
                                  const std::string& certificate);

  /// A worker has the turn on its devices from now on, or no longer.
  void has_turn(const WorkerName& worker, bool has);

  /// The worker has said whose fault its end will be; kept for that.
  void diagnosed(const WorkerName& worker, const Diagnosis& diagnosis);

  /// Looks at those of which a descriptor is in `readable` (ascending), and at those that have
  /// none.
  void look(const std::vector<int>& readable);

  /// Takes those whose programs have begun to run, in the order of their names.
  std::vector<WorkerRecord> take_ready();

  /// Workers whose shims have not brought them up yet.
  std::size_t starting() const;

  /// Whether `take_ends` has any to give.
  bool has_ends() const;

  /// Takes those that have ended, in the order of their names. Their folders stay.
  std::vector<WorkerEnd> take_ends();

  void append_descriptors(std::vector<pollfd>& polled) const;

  bool must_be_polled() const;

  bool empty() const { return living_.empty(); }

  bool runs(const WorkerName& worker) const { return living_.contains(worker); }

  /// What a worker shows to be itself (WorkerRecord::token); null where it does not live.
  const std::string* token_of(const WorkerName& worker) const {
    const auto living = living_.find(worker);
    return living == living_.end() ? nullptr : &living->second.record.token;
  }

  /// Records of all that live.
  std::vector<WorkerRecord> records() const;

  const WorkerRecord* record(const WorkerName& worker) const;

  /// Whether a worker of the job lives.
  bool has_job(JobId job) const;

  /// The job is over: its ends need not be told again, and its folders may go.
  void clean(JobId job);

  /// Folders beyond the limits go; `now` is the wall clock in nanoseconds.
  void collect(std::int64_t now);

  /// What is left of folders that go.
  Removals& removals() { return removals_; }

  const Removals& removals() const { return removals_; }

  /// Every folder goes. Only where no worker lives.
  void forget_all();

  /// Of a worker that lives or whose folder is still kept; empty otherwise.
  std::string folder_of(const WorkerName& worker) const;

  /// The latest start of the replica before `worker`, whose folder is still kept.
  std::optional<WorkerName> predecessor_of(const WorkerName& worker,
                                           RoleIndex role,
                                           std::int32_t local_rank) const;

 private:
  struct Living {
    WorkerRecord record;
    ShimProcess shim;
    bool told_ready = false;
  };

  struct Kept {
    WorkerName worker;
    std::int64_t since = 0;  ///< Wall clock: when it ended, or its job was cleaned.
  };

  std::string path_of(const WorkerName& worker) const;
  void adopt_folder(const WorkerName& worker,
                    const std::function<bool(const WorkerRecord&)>& waits_for_hello,
                    Found& found,
                    ProcessScan& scan);
  void forget_replaced(Found& found);
  std::size_t end_strays() const;
  void keep_record(const WorkerRecord& record);
  void mark_cleaned(const WorkerName& worker);
  void remove(const WorkerName& worker);

  std::string folder_;
  std::string shim_program_;
  FolderLimits limits_;
  Removals removals_;
  std::map<WorkerName, Living> living_;
  std::deque<Kept> ended_;    ///< Of jobs that are not cleaned, oldest first.
  std::deque<Kept> cleaned_;  ///< Oldest first.
};

}  // namespace orrery::runtime
