#include "tools/cluster_world/cluster_world.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "tools/client/session.hpp"
#include "tools/cluster_world/job_document.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using scenarios::Fault;
using scenarios::FaultKind;

/// By then what was ordered of workers has reached them.
constexpr Duration kOrdersArrive = Duration::milliseconds(100);

/// A driver tells of a device that is gone before the programs on it have noticed; by then also
/// where its agent is away.
constexpr Duration kLossIsKnown = Duration::seconds(1);

WorkerName name_of(JobId job, const sim::ModelWorker& worker) {
  return {job, worker.incarnation, worker.birth_rank};
}

std::uint64_t number_in(const EmulatedWorker& worker, const char* variable) {
  std::uint64_t value = 0;
  const auto found = worker.variables.find(variable);
  if (found == worker.variables.end()) return 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

/// "0,2" as bits.
std::uint64_t devices_of(const EmulatedWorker& worker) {
  const auto found = worker.variables.find("ORRERY_DEVICES");
  if (found == worker.variables.end()) return 0;
  std::uint64_t bits = 0;
  const char* at = found->second.data();
  const char* end = at + found->second.size();
  while (at < end) {
    unsigned device = 64;
    at = std::from_chars(at, end, device).ptr;
    if (device >= 64) break;
    bits |= std::uint64_t{1} << device;
    if (at < end) ++at;
  }
  return bits;
}

/// The socket of a node's agent lies in the node's folder.
NodeId node_of(const EmulatedWorker& worker, const std::string& folder) {
  const auto found = worker.variables.find("ORRERY_SOCKET");
  const std::string before = folder + "/node-";
  std::uint32_t node = 0;
  if (found == worker.variables.end() || !found->second.starts_with(before)) return NodeId{};
  const char* at = found->second.data() + before.size();
  const char* end = found->second.data() + found->second.size();
  return std::from_chars(at, end, node).ec == std::errc() ? NodeId{node} : NodeId{};
}

std::optional<RoleIndex> role_named(const JobSpec& spec, const std::string& name) {
  for (std::size_t r = 0; r < spec.roles.size(); ++r)
    if (spec.roles[r].name == name) return RoleIndex{static_cast<std::uint16_t>(r)};
  return std::nullopt;
}

}  // namespace

ClusterWorld::ClusterWorld(const scenarios::Scenario& scenario,
                           sim::JobSource& source,
                           const std::string& worker_program,
                           const std::vector<NodeGroup>& groups,
                           const std::string& folder,
                           Daemons& daemons,
                           NodeLinks* links,
                           StoreDisk& disk,
                           EmulatedWorkers& workers,
                           Requests& requests,
                           JournalReader& journal)
    : scenario_(scenario),
      worker_program_(worker_program),
      groups_(groups),
      folder_(folder),
      daemons_(daemons),
      links_(links),
      disk_(disk),
      workers_(workers),
      requests_(requests),
      journal_(journal),
      down_at_(static_cast<std::size_t>(scenario.node_count()), Instant::never()),
      cluster_(scenario, source, *this) {}

bool ClusterWorld::work_left() const {
  return cluster_.work_left() || !unsent_.empty() || !unanswered_.empty() ||
         requests_.under_way() > 0 || !acts_.empty();
}

void ClusterWorld::turn(Instant now) {
  cluster_.pass_to(std::max(now, cluster_.now()));
  follow_journal();
  take_answers();
  take_workers();
  submit_waiting();
  act_on_daemons();
  if (any_watched_ && now >= measure_at_) measure();
}

void ClusterWorld::note(const Status& done) {
  if (!done) errors_.insert(errors_.end(), done.errors().begin(), done.errors().end());
}

// With processes of ours as its programs.
std::shared_ptr<const JobSpec> ClusterWorld::runnable(const JobSpec& spec) const {
  auto out = std::make_shared<JobSpec>(spec);
  for (RoleSpec& role : out->roles.items()) {
    role.command = {worker_program_, folder_ + "/workers.sock"};
    // Ready when the model says so, not when the process runs.
    role.environment.push_back({"ORRERY_READY", "hello"});
  }
  return out;
}

const JobSpec* ClusterWorld::spec_of(JobId id) const {
  const JobState* job = journal_.state().find(id);
  return job == nullptr ? nullptr : job->spec.get();
}

// --- what the model tells ---

void ClusterWorld::on_outside(EventBody body) {
  if (const auto* submitted = std::get_if<JobSubmitted>(&body)) {
    const FailoverSpec& wanted = *submitted->spec->failover;
    any_watched_ = any_watched_ || !wanted.hang_after.is_forever() || wanted.straggler_factor > 0;
    unsent_.push_back({submitted->request, runnable(*submitted->spec)});
    return;
  }
  if (const auto* change = std::get_if<JobChanged>(&body)) {
    if (spec_of(change->job) == nullptr) return;
    return post("/api/v1/jobs?apply=1", job_document({*runnable(*change->spec)}));
  }
  if (const auto* scale = std::get_if<ScaleRequested>(&body)) {
    const JobSpec* spec = spec_of(scale->job);
    if (spec == nullptr) return;
    Json ask;
    if (!scale->role.is_none()) ask["role"] = spec->roles[scale->role.index()].name;
    switch (scale->mode) {
      case ScaleMode::Set:
        ask["replicas"] = scale->replicas;
        break;
      case ScaleMode::Add:
        ask["add"] = scale->replicas;
        break;
      case ScaleMode::Remove:
        ask["remove"] = scale->replicas;
        break;
      case ScaleMode::Clear:
        ask["clear"] = true;
        break;
    }
    return post(job_target(spec->name, "/scale"), ask.dump());
  }
  if (const auto* stop = std::get_if<StopRequested>(&body)) {
    if (const JobSpec* spec = spec_of(stop->job)) post(job_target(spec->name, "/stop"), "");
    return;
  }
  if (const auto* deletion = std::get_if<DeleteRequested>(&body)) {
    if (const JobSpec* spec = spec_of(deletion->job)) ask("DELETE", job_target(spec->name), "");
    return;
  }
  if (const auto* exclusion = std::get_if<ExclusionRequested>(&body))
    return post("/api/v1/nodes/" + node_name(exclusion->node) +
                    (exclusion->excluded ? "/exclude" : "/include"),
                "");
  if (const auto* profiling = std::get_if<ProfilingChanged>(&body)) {
    Json values;
    for (const ProfilingValue& value : profiling->values) values[value.key] = value.value;
    if (const sim::LiveJob* job = cluster_.job(profiling->job))
      for (const sim::ModelWorker& worker : job->workers)
        if (worker.rank == profiling->rank && worker.alive)
          return workers_.say(name_of(profiling->job, worker), Json{{"profiling", values}}.dump());
    // Of a worker that is gone: what a launcher beside it would say.
    if (const JobSpec* spec = spec_of(profiling->job))
      post(job_target(spec->name, "/profilings"), values.dump());
  }
}

void ClusterWorld::on_workers(JobId job,
                              std::span<const sim::ModelWorker> workers,
                              WorkerFact fact,
                              std::int32_t exit_code,
                              Instant,
                              const Diagnosis& diagnosis) {
  for (const sim::ModelWorker& worker : workers) {
    const WorkerName name = name_of(job, worker);
    const EmulatedWorker* process = workers_.find(name);
    if (process == nullptr) continue;
    switch (fact) {
      case WorkerFact::Ready:
        workers_.make_ready(name);
        break;
      case WorkerFact::Lost:  // Taken away with its shim: how it ended, nobody saw.
        ::kill(process->shim, SIGKILL);
        break;
      default:
        say_diagnosis(name, diagnosis);
        if ((worker.devices & cluster_.lost_devices(worker.node)) == 0)
          workers_.end(name, exit_code);
        else
          acts_.push_back({.at = cluster_.now() + kLossIsKnown,
                           .kind = Act::Kind::EndWorker,
                           .node = worker.node,
                           .worker = name,
                           .exit_code = exit_code});
    }
  }
}

// What a worker says to its agent before it ends.
void ClusterWorld::say_diagnosis(const WorkerName& worker, const Diagnosis& diagnosis) {
  const JobSpec* spec = spec_of(worker.job);
  if (diagnosis.blame == Blame::None || spec == nullptr) return;
  Json said{{"fault", to_string(diagnosis.blame)}, {"message", diagnosis.message}};
  if (diagnosis.blame == Blame::Peer) {
    if (diagnosis.role.index() >= spec->roles.size()) return;
    said["role"] = spec->roles[diagnosis.role.index()].name;
    said["rank"] = diagnosis.rank;
  }
  workers_.say(worker, Json{{"diagnosis", said}}.dump());
}

void ClusterWorld::on_progress(NodeId from, ProgressReported progress) {
  const sim::LiveJob* job = cluster_.job(progress.job);
  if (job == nullptr) return;
  Json said{{"done", progress.done},
            {"rate", progress.rate},
            {"efficiency", progress.efficiency},
            {"epoch", progress.epoch},
            {"checkpointed", progress.checkpointed}};
  if (!progress.remaining.is_forever()) said["remaining_s"] = progress.remaining.in_seconds();
  const std::string line = Json{{"progress", said}}.dump();
  // Words that go by two agents may overtake each other, so the same worker says them all.
  const auto speaker = speakers_.find(progress.job);
  if (speaker != speakers_.end())
    for (const sim::ModelWorker& worker : job->workers)
      if (worker.alive && worker.ready && name_of(progress.job, worker) == speaker->second)
        return workers_.say(speaker->second, line);
  for (const sim::ModelWorker& worker : job->workers) {
    if (worker.node != from || !worker.alive || !worker.ready ||
        worker.generation != job->generation)
      continue;
    speakers_[progress.job] = name_of(progress.job, worker);
    return workers_.say(name_of(progress.job, worker), line);
  }
}

void ClusterWorld::on_sub_master(NodeId, const sim::ModelWorker& master, SubMasterSaid said) {
  const JobSpec* spec = spec_of(said.job);
  if (spec == nullptr) return;
  workers_.say(name_of(said.job, master),
               Json{{"sub_master",
                     {{"role", spec->roles[said.role.index()].name},
                      {"incident", said.incident},
                      {"word", to_string(said.word)}}}}
                   .dump());
}

void ClusterWorld::on_node_down(NodeId node) {
  daemons_.kill_node(node);
  cluster_.forget(node);
  down_at_[node.index()] = cluster_.now();
}

// What comes back before its lease is over is the same machine, which has started again and runs
// nothing: with another one, whose disk is empty, the controller would wait until the lease is
// over. What comes in place of one that was up until now is another one.
void ClusterWorld::on_node_up(NodeId node) {
  if (daemons_.agent_runs(node)) on_node_down(node);
  const Duration away = cluster_.now() - down_at_[node.index()];
  const bool is_other = away == Duration::zero() || away > scenario_.settings.node_lease;
  daemons_.empty_disk(node, is_other ? "" : "/workers");
  note(daemons_.start_agent(node));
}

void ClusterWorld::on_fault(const Fault& fault) {
  const Instant now = cluster_.now();
  switch (fault.kind) {
    case FaultKind::AgentCrash:
      for (const NodeId node : fault.nodes) {
        daemons_.kill_agent(node);
        if (!fault.lasting.is_forever())
          acts_.push_back({now + fault.lasting, Act::Kind::StartAgent, node, {}, {}});
      }
      return;
    case FaultKind::ControllerCrash:
      daemons_.kill_controller();
      acts_.push_back({now + fault.lasting, Act::Kind::StartController, {}, {}, {}});
      return;
    case FaultKind::ControllerPause:
      daemons_.signal_controller(SIGSTOP);
      acts_.push_back({now + fault.lasting, Act::Kind::WakeController, {}, {}, {}});
      return;
    case FaultKind::LinkCut:
      return cut_links(fault);
    case FaultKind::StoreFail:
      note(disk_.fill());
      acts_.push_back({now + fault.lasting, Act::Kind::ClearDisk, {}, {}, {}});
      return;
    default:  // Refused by unfit_for_cluster.
      return;
  }
}

// The node's agent reads there which of its pretended devices are lost.
Status ClusterWorld::name_lost(NodeId node, std::uint64_t devices) const {
  const std::string folder = folder_ + "/" + node_name(node);
  const std::string path = folder + "/lost_devices";
  // Of a machine that has just begun its agent may not have made it yet.
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  std::ofstream file(path, std::ios::trunc);
  for (unsigned device = 0; device < 64; ++device)
    if ((devices >> device & 1U) != 0) file << device << "\n";
  file.close();
  if (file) return Done{};
  return Error{.file = path, .message = "cannot be written; check the disk and its rights"};
}

void ClusterWorld::cut_links(const Fault& fault) {
  std::vector<NodeId> nodes = fault.nodes;
  for (std::uint32_t n = 0; fault.nodes.empty() && n < scenario_.node_count(); ++n)
    nodes.push_back(NodeId{n});
  for (const NodeId node : nodes) {
    note(links_->cut(node, fault.direction));
    if (!fault.lasting.is_forever())
      acts_.push_back(
          {cluster_.now() + fault.lasting, Act::Kind::MendLink, node, {}, fault.direction});
  }
}

// --- what processes tell ---

void ClusterWorld::take_workers() {
  for (WorkerNews& news : workers_.take()) early_.push_back(std::move(news));
  const std::size_t count = early_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const WorkerNews news = std::move(early_.front());
    early_.pop_front();
    // A worker can be there before the answer to its job's submission is.
    if (cluster_.job(news.name.job) == nullptr && !unanswered_.empty()) {
      early_.push_back(news);
      continue;
    }
    const EmulatedWorker* worker = workers_.find(news.name);
    switch (news.kind) {
      case WorkerNews::Kind::Came:
        if (worker != nullptr) came(*worker);
        break;
      case WorkerNews::Kind::Asked:
      case WorkerNews::Kind::Gone: {
        const bool gone = news.kind == WorkerNews::Kind::Gone;
        const sim::LiveJob* job = cluster_.job(news.name.job);
        if (job == nullptr) break;
        for (const sim::ModelWorker& known : job->workers) {
          if (name_of(news.name.job, known) != news.name) continue;
          cluster_.act(known.node,
                       SignalWorker{news.name, gone ? WorkerSignal::Kill : WorkerSignal::Ask});
          break;
        }
        break;
      }
      case WorkerNews::Kind::Heard:
        if (worker != nullptr) heard(*worker, news.line);
        break;
    }
  }
}

void ClusterWorld::came(const EmulatedWorker& worker) {
  const JobSpec* spec = spec_of(worker.name.job);
  const NodeId node = node_of(worker, folder_);
  const auto role_name = worker.variables.find("ORRERY_ROLE");
  if (spec == nullptr || node.is_none() || role_name == worker.variables.end()) return;
  const auto role = role_named(*spec, role_name->second);
  if (!role) return;
  SpawnWorker spawn;
  spawn.worker = worker.name;
  spawn.slot = {*role, static_cast<std::int32_t>(number_in(worker, "ORRERY_LOCAL_RANK"))};
  spawn.generation = Generation{static_cast<std::uint32_t>(number_in(worker, "ORRERY_GENERATION"))};
  spawn.rank = Rank{static_cast<std::uint32_t>(number_in(worker, "ORRERY_RANK"))};
  spawn.world_size = static_cast<std::uint32_t>(number_in(worker, "ORRERY_WORLD_SIZE"));
  spawn.devices = devices_of(worker);
  spawn.share = spec->roles[role->index()].bundle.share;
  cluster_.act(node, spawn);
}

void ClusterWorld::heard(const EmulatedWorker& worker, const std::string& line) {
  const Json said = Json::parse(line, nullptr, false);
  if (!said.is_object()) return;
  const NodeId node = node_of(worker, folder_);
  if (const auto membership = said.find("membership"); membership != said.end()) {
    TellMembership tell;
    tell.worker = worker.name;
    tell.generation = Generation{membership->value("generation", 0U)};
    tell.rank = Rank{membership->value("rank", 0U)};
    tell.world_size = membership->value("world_size", 0U);
    return cluster_.act(node, tell);
  }
  const auto word = said.find("sub_master");
  const JobSpec* spec = spec_of(worker.name.job);
  if (word == said.end() || spec == nullptr) return;
  PassToSubMaster pass;
  pass.worker = worker.name;
  const auto role = role_named(*spec, word->value("role", ""));
  const auto order = enum_from<SubMasterOrder>(word->value("word", ""));
  if (!role || !order) return;
  pass.role = *role;
  pass.incident = word->value("incident", 0U);
  pass.word = *order;
  cluster_.act(node, pass);
}

// What a worker that hangs would measure, it does not.
void ClusterWorld::measure() {
  measure_at_ = cluster_.now() + Duration{scenario_.settings.node_lease.ns / 5};
  for (const sim::LivingProcess& process : cluster_.living()) {
    if (process.hung || process.stopping || !process.ready) continue;
    const sim::LiveJob* job = cluster_.job(process.job);
    for (const sim::ModelWorker& worker : job->workers)
      if (worker.incarnation == process.incarnation && worker.birth_rank == process.birth_rank)
        workers_.say(name_of(process.job, worker),
                     Json{{"profiling", {{"step_time_s", cluster_.slowness(worker)}}}}.dump());
  }
}

// --- the controller ---

void ClusterWorld::follow_journal() {
  note(journal_.follow());
  for (const CommandBody& order : journal_.take_orders())
    if (const auto* clean = std::get_if<CleanJob>(&order))
      acts_.push_back({cluster_.now() + kOrdersArrive, Act::Kind::Clean, {}, clean->job, {}});
}

void ClusterWorld::post(const std::string& target, std::string body) {
  ask("POST", target, std::move(body));
}

void ClusterWorld::ask(const std::string& method, const std::string& target, std::string body) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = std::move(body);
  requests_.ask(std::move(request));
}

// Jobs of one instant are one file: what is submitted together is. One that the controller will
// refuse is a file of its own, for it takes none of the others.
void ClusterWorld::submit_waiting() {
  while (!unsent_.empty() && errors_.empty()) {
    std::deque<Submission> together;
    std::vector<JobSpec> specs;
    while (!unsent_.empty()) {
      const bool sound = check_spec(*unsent_.front().spec).empty();
      if (!sound && !together.empty()) break;
      specs.push_back(*unsent_.front().spec);
      together.push_back(std::move(unsent_.front()));
      unsent_.pop_front();
      if (sound) continue;
      break;
    }
    if (check_spec(specs.back()).empty())
      if (const Errors lost = lost_in_document(specs, groups_, scenario_.file); !lost.empty())
        return note(lost);
    HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/jobs";
    request.body = job_document(specs);
    unanswered_[requests_.ask(std::move(request))] = std::move(together);
  }
}

void ClusterWorld::take_answers() {
  for (const RequestAnswer& answer : requests_.take_answers()) {
    const auto asked = unanswered_.find(answer.number);
    if (asked == unanswered_.end()) continue;
    auto submissions = std::move(asked->second);
    unanswered_.erase(asked);
    answered(std::move(submissions), answer);
  }
}

// Where something goes wrong on the way, the answer to a list names the first jobs, which are in.
void ClusterWorld::answered(std::deque<Submission> asked, const RequestAnswer& answer) {
  note(journal_.follow());
  if (!answer.reached) return note(Error{.subject = "submission", .message = answer.body});
  const Json reply = Json::parse(answer.body, nullptr, false);
  std::size_t taken = asked.size();
  if (answer.status >= 300)
    taken = reply.is_object() ? reply.value("jobs", Json::array()).size() : 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (i > taken) {
      unsent_.push_back(asked[i]);
      continue;
    }
    const bool accepted = i < taken;
    AnswerRequest told;
    told.request = asked[i].request;
    told.accepted = accepted;
    if (accepted) told.job = journal_.state().named(asked[i].spec->name);
    if (!accepted) told.message = answer.body;
    cluster_.obey(told);
  }
}

// Whether the act is the end of a worker whose device is lost, and the controller knows that.
bool ClusterWorld::is_loss_known(const Act& act) const {
  const auto& nodes = journal_.state().nodes;
  return act.kind == Act::Kind::EndWorker && act.node.index() < nodes.size() &&
         nodes[act.node.index()].lost_device;
}

void ClusterWorld::act_on_daemons() {
  const Instant now = cluster_.now();
  for (std::size_t i = acts_.size(); i-- > 0;) {
    if (acts_[i].at > now && !is_loss_known(acts_[i])) continue;
    const Act act = acts_[i];
    acts_.erase(acts_.begin() + static_cast<std::ptrdiff_t>(i));
    switch (act.kind) {
      case Act::Kind::StartAgent:
        if (!cluster_.is_down(act.node) && !daemons_.agent_runs(act.node))
          note(daemons_.start_agent(act.node));
        break;
      case Act::Kind::StartController:
        if (!daemons_.controller_runs()) note(daemons_.start_controller());
        break;
      case Act::Kind::Clean:
        cluster_.obey(CleanJob{act.job});
        break;
      case Act::Kind::WakeController:
        daemons_.signal_controller(SIGCONT);
        break;
      case Act::Kind::MendLink:
        note(links_->mend(act.node, act.direction));
        break;
      case Act::Kind::EndWorker:
        workers_.end(act.worker, act.exit_code);
        break;
      case Act::Kind::ClearDisk:
        note(disk_.clear());
        break;
    }
  }
}

}  // namespace orrery::cli
