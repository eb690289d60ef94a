#include "tools/bench/hollow/measured_controller.hpp"

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "policies/registry.hpp"
#include "runtime/controller/controller_daemon.hpp"
#include "runtime/election/sole_election.hpp"
#include "runtime/forecast/forecast_desk.hpp"
#include "runtime/link/link.hpp"
#include "runtime/store/sqlite_store.hpp"

namespace orrery::bench {
namespace {

using runtime::LinkId;

[[noreturn]] void stop_with(const Errors& errors) {
  for (const Error& error : errors) std::fprintf(stderr, "%s\n", error.text().c_str());
  std::exit(1);
}

class AnsweringController final : public MeasuredController, private runtime::LinkListener {
 public:
  AnsweringController() { listen("127.0.0.1:0"); }

  std::string address() const override { return server_->address(); }

  void restart() override {
    const std::string address = server_->address();
    server_.reset();
    listen(address);
  }

  ReplicaStarts start_replicas(int, int, const std::function<void()>&) override { return {}; }

  void submit_jobs(int) override {}

  bool forecast(const std::string&) override { return false; }

  std::uint64_t forecasts() const override { return 0; }

 private:
  void listen(const std::string& address) {
    auto server = runtime::serve_links(address, {}, {}, *this);
    if (!server) stop_with(server.errors());
    server_ = std::move(*server);
  }

  void on_open(LinkId, const runtime::Peer&) override {}

  void on_messages(LinkId link, std::vector<runtime::AgentMessage> messages) override {
    for (const runtime::AgentMessage& message : messages) {
      if (const auto* beat = std::get_if<runtime::Beat>(&message))
        server_->send(link, runtime::Renewal{Epoch{1}, beat->sent_at});
      else if (std::holds_alternative<runtime::Hello>(message))
        server_->send(link, runtime::Welcome{.epoch = Epoch{1}, .node = NodeId{nodes_++}});
    }
  }

  void on_closed(LinkId, const std::string&) override {}

  std::atomic<std::uint32_t> nodes_ = 0;
  std::unique_ptr<runtime::LinkServer> server_;
};

class WholeController final : public MeasuredController {
 public:
  WholeController() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery_hollow_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    begin("127.0.0.1:0");
  }

  void restart() override {
    const std::string address = daemon_->agents_address();
    desk_.reset();
    daemon_.reset();
    begin(address);
  }

  ~WholeController() override {
    desk_.reset();
    daemon_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string address() const override { return daemon_->agents_address(); }

  ReplicaStarts start_replicas(int replicas,
                               int per_job,
                               const std::function<void()>& progress) override {
    const auto begin = std::chrono::steady_clock::now();
    const int jobs = (replicas + per_job - 1) / per_job;
    for (int i = 0; i < jobs; ++i) submit("default.hollow-" + std::to_string(i), per_job);
    ReplicaStarts out;
    while (running_.load() < jobs && refused_.load() == 0) {
      progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      count_running();
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.ready = running_.load() * per_job;
    return out;
  }

  void submit_jobs(int jobs) override {
    for (int i = 0; i < jobs; ++i) submit("default.asked-" + std::to_string(i), 1);
  }

  bool forecast(const std::string& program) override {
    runtime::ForecastDeskOptions options;
    options.helper.program = {program, "serve-forecasts"};
    options.helper.policy.name = "fifo";
    options.helper.memory = Bytes{std::int64_t{2} << 30};
    options.refresh = Duration::zero();
    desk_ = std::make_unique<runtime::ForecastDesk>(*daemon_, std::move(options));
    ask(*desk_);
    return true;
  }

  std::uint64_t forecasts() const override { return answered_; }

 private:
  void begin(const std::string& address) {
    runtime::ControllerParts parts;
    parts.config.name = "hollow";
    parts.config.agents_address = address;
    parts.config.store.sqlite = (folder_ / "journal.db").string();
    parts.listen = [address](runtime::LinkListener& listener) {
      return runtime::serve_links(address, {}, {}, listener);
    };
    parts.election = [](const runtime::Election::Lost&) {
      return std::make_unique<runtime::SoleElection>(runtime::Candidate{});
    };
    parts.open_store = [path = parts.config.store.sqlite](
                           const runtime::Leadership&) -> Result<std::unique_ptr<StateStore>> {
      auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::Append);
      if (!store) return store.errors();
      return std::unique_ptr<StateStore>(std::move(*store));
    };
    parts.policy = [] { return std::move(policies::make_policy("fifo").value()); };
    auto daemon = runtime::ControllerDaemon::start(std::move(parts));
    if (!daemon) stop_with(daemon.errors());
    daemon_ = std::move(*daemon);
  }

  void submit(const std::string& name, int per_job) {
    JobSpec spec;
    spec.name = name;
    RoleSpec role;
    role.name = "worker";
    role.min_replicas = role.max_replicas = per_job;
    role.bundle.cpu = MilliCpu{1000};
    role.bundle.memory = Bytes{1};
    role.bundle.devices = 1;
    spec.roles.push_back(role);
    daemon_->ask(JobSubmitted{.spec = std::make_shared<const JobSpec>(std::move(spec))},
                 [this](const runtime::RequestOutcome& outcome) {
                   if (outcome.kind == runtime::RequestOutcome::Kind::Accepted) return;
                   if (++refused_ == 1) std::fprintf(stderr, "%s\n", outcome.message.c_str());
                 });
  }

  // Each with another seed: a question that was asked before is answered with what is known.
  // While the desk ends it takes none.
  void ask(runtime::ForecastDesk& desk) {
    ForecastQuestion question;
    question.seed = ++asked_;
    (void)desk.ask(question, [this, &desk](const runtime::ForecastReply& reply) {
      if (reply.answer != nullptr)
        ++answered_;
      else
        std::fprintf(stderr, "%s\n", reply.why.c_str());
      ask(desk);
    });
  }

  void count_running() {
    daemon_->read([this](const runtime::ControlView& view) {
      int running = 0;
      view.state.for_each_job([&](const JobState& job) {
        if (job.row.phase == JobPhase::Running) ++running;
      });
      running_ = running;
    });
  }

  std::filesystem::path folder_;
  std::atomic<int> running_ = 0;
  std::atomic<int> refused_ = 0;
  std::unique_ptr<runtime::ControllerDaemon> daemon_;
  std::uint64_t asked_ = 0;
  std::atomic<std::uint64_t> answered_ = 0;
  std::unique_ptr<runtime::ForecastDesk> desk_;
};

}  // namespace

std::unique_ptr<MeasuredController> make_answering_controller() {
  return std::make_unique<AnsweringController>();
}

std::unique_ptr<MeasuredController> make_whole_controller() {
  return std::make_unique<WholeController>();
}

}  // namespace orrery::bench
