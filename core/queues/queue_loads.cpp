#include "core/queues/queue_loads.hpp"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

QueueUse signed_by(QueueUse use, int sign) {
  return {use.devices * sign, use.cpu * sign, use.memory * sign};
}

std::int64_t mebibytes(std::int64_t bytes) { return (bytes + kMebibyte - 1) / kMebibyte; }

}  // namespace

QueueUse use_at(const JobRow& row, const JobSpec& spec, std::int32_t replicas) {
  QueueUse out;
  out.devices = row.has_parts()
                    ? row.thousandths_at(replicas)
                    : (std::int64_t{replicas} * row.demand.devices + row.rest_devices) * 1000;
  out.cpu = replicas * row.demand.cpu.count;
  out.memory = replicas * mebibytes(row.demand.memory.count);
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    if (r == row.elastic.index()) continue;
    const RoleSpec& role = spec.roles[r];
    out.cpu += role.min_replicas * role.bundle.cpu.count;
    out.memory += role.min_replicas * mebibytes(role.bundle.memory.count);
  }
  return out;
}

std::int32_t asked_replicas(const JobRow& row, const JobSpec& spec, bool sizes_jobs) {
  std::int32_t size = row.min_replicas;
  if (row.preemptible)
    size = sizes_jobs ? row.max_replicas
                      : std::clamp(rigid_replicas(spec), row.min_replicas, row.max_replicas);
  return std::max(size, row.replicas);
}

QueueJob queue_job(const QueueTree& tree, const JobRow& row, const JobSpec& spec, bool sizes_jobs) {
  QueueJob job;
  job.queue = tree.queue_of(*spec.group);
  job.user = std::string(namespace_of(spec.name));
  job.fixed = !row.preemptible;
  job.holds = row.holds;
  job.waits = !row.holds && row.phase == JobPhase::Pending && !row.infeasible;
  if (row.holds) {
    job.use = use_at(row, spec, row.replicas);
    if (!row.has_parts()) job.use.devices = std::int64_t{row.devices_held} * 1000;
  }
  if (!job.holds && !job.waits) return job;
  job.want = use_at(row, spec, asked_replicas(row, spec, sizes_jobs));
  job.want.devices = std::max(job.want.devices, job.use.devices);
  return job;
}

QueueLoads::QueueLoads(const QueueTree& tree) : tree_(tree), queues_(tree.size()) {}

void QueueLoads::clear() {
  queues_.assign(tree_.size(), {});
  users_.clear();
}

void QueueLoads::count(const QueueJob& job, int sign) {
  const QueueUse use = signed_by(job.use, sign);
  const QueueUse want = signed_by(job.want, sign);
  for (std::uint32_t queue = job.queue;; queue = tree_.node(queue).parent) {
    Queue& at = queues_[queue];
    at.use += use;
    if (job.fixed) at.fixed += use;
    at.waiting += job.waits ? sign : 0;
    at.holding += job.holds ? sign : 0;
    if (queue == job.queue || tree_.limits_users(queue)) {
      User& user = users_[{queue, job.user}];
      user.use += use;
      user.want += want;
    }
    if (queue == 0) return;
  }
}

void QueueLoads::hold(const QueueJob& job, const QueueUse& more) {
  QueueJob held = job;
  held.use = more;
  held.want = {};
  held.waits = held.holds = false;
  count(held, 1);
}

QueueUse QueueLoads::use_of(std::uint32_t queue, std::string_view user) const {
  const auto found = users_.find({queue, std::string(user)});
  return found == users_.end() ? QueueUse{} : found->second.use;
}

QueueScale QueueLoads::scale(std::int64_t devices_usable, const FreeIndex& free) const {
  const QueueUse& held = queues_[0].use;
  return {{devices_usable * 1000,
           free.free_cpu().count + held.cpu,
           free.free_memory().count / kMebibyte + held.memory},
          tree_.spec().cpu,
          tree_.spec().memory};
}

std::vector<QueueUse> QueueLoads::wants(const QueueScale& scale,
                                        std::span<const QueueJob> vain) const {
  __extension__ using Wide = __int128;
  std::map<std::pair<std::uint32_t, std::string_view>, QueueUse> less;
  for (const QueueJob& job : vain) less[{job.queue, job.user}] += job.want;
  std::vector<QueueUse> out(queues_.size());
  for (const auto& [key, user] : users_) {
    if (!tree_.node(key.first).is_leaf()) continue;
    QueueUse want = user.want;
    if (const auto found = less.find({key.first, key.second}); found != less.end())
      want -= found->second;
    const std::int64_t wanted = scale.dominant(want);
    const std::int64_t most = tree_.user_most(key.first, key.second, scale.total());
    if (wanted > most)
      for (std::int64_t* part : {&want.devices, &want.cpu, &want.memory})
        *part = static_cast<std::int64_t>(static_cast<Wide>(*part) * most / wanted);
    out[key.first] += want;
  }
  return out;
}

// What no job that can be taken from may be asked to give up for: held for good, or guaranteed.
std::int64_t QueueLoads::reserved(const QueueScale& scale,
                                  std::uint32_t queue,
                                  const QueueUse& more) const {
  std::vector<std::int64_t> out(tree_.size(), 0);
  const auto close = [&](std::uint32_t at) {
    const QueueNode& node = tree_.node(at);
    std::int64_t below = 0;
    if (node.is_leaf()) {
      QueueUse fixed = queues_[at].fixed;
      if (at == queue) fixed += more;
      below = scale.dominant(fixed);
    }
    for (const std::uint32_t child : node.children) below += out[child];
    out[at] = std::max(below, at == 0 ? 0 : node.spec.guarantee.of(scale.total()));
  };
  const std::span<const std::uint32_t> order = tree_.order();
  for (auto at = order.rbegin(); at != order.rend(); ++at) close(*at);
  close(0);
  return out[0];
}

std::optional<QueueBlock> QueueLoads::block(const QueueScale& scale,
                                            const QueueJob& job,
                                            const QueueUse& more) const {
  const std::int64_t total = scale.total();
  for (std::uint32_t queue = job.queue; queue != 0; queue = tree_.node(queue).parent) {
    const std::int64_t most = tree_.most(queue, total);
    QueueUse then = queues_[queue].use;
    then += more;
    if (most != INT64_MAX && scale.dominant(then) > most)
      return QueueBlock{QueueCause::Limit, queue};
    if (!tree_.limits_users(queue)) continue;
    then = use_of(queue, job.user);
    then += more;
    if (scale.dominant(then) > tree_.user_most(queue, job.user, total))
      return QueueBlock{QueueCause::UserLimit, queue};
  }
  if (!job.fixed) return std::nullopt;
  // Where it would not fit beside what is held for good, it waits for that, not for guarantees.
  QueueUse fixed = queues_[0].fixed;
  fixed += more;
  const std::int64_t then_reserved = reserved(scale, job.queue, more);
  if (scale.dominant(fixed) <= total && then_reserved > total &&
      then_reserved > reserved(scale, job.queue, {}))
    return QueueBlock{QueueCause::Guarantee, job.queue};
  return std::nullopt;
}

bool QueueLoads::is_barred(const QueueScale& scale,
                           const QueueJob& job,
                           const QueueUse& gang) const {
  if (const auto keeps = block(scale, job, gang);
      keeps && (keeps->cause == QueueCause::Guarantee || keeps->queue == job.queue))
    return true;
  // Other queues may give way below a limit that they have in common, if it is wide enough at all,
  // as the cluster has to be.
  const std::int64_t alone = scale.dominant(gang);
  const std::int64_t total = scale.total();
  if (alone > total) return true;
  for (std::uint32_t queue = tree_.node(job.queue).parent; queue != 0;
       queue = tree_.node(queue).parent)
    if (alone > tree_.most(queue, total) || alone > tree_.user_most(queue, job.user, total))
      return true;
  return false;
}

}  // namespace orrery
