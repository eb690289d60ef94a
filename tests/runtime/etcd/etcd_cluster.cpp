#include "tests/runtime/etcd/etcd_cluster.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

namespace orrery::runtime {
namespace {

constexpr std::chrono::seconds kStartLimit{60};

// Below the ports that the kernel gives to clients that connect, so that no connection of a member
// that is up already takes the port of one that is not.
constexpr int kPortMin = 20'000;
constexpr int kPortMax = 32'000;

bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return bound;
}

/// Ports that were free a moment ago, all different.
std::vector<int> free_ports(std::size_t count) {
  std::random_device random;
  std::vector<int> ports;
  int port = kPortMin + static_cast<int>(random() % (kPortMax - kPortMin));
  while (ports.size() < count) {
    if (is_free(port)) ports.push_back(port);
    port = port + 1 < kPortMax ? port + 1 : kPortMin;
  }
  return ports;
}

std::string program() {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  folders += ":/usr/bin:/usr/local/bin";
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/etcd";
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

std::string url(int port) { return "http://127.0.0.1:" + std::to_string(port); }

std::string& reason() {
  static std::string text;
  return text;
}

/// Ends the members with the program's last test.
class Ending : public ::testing::Environment {
 public:
  explicit Ending(std::function<void()> end) : end_(std::move(end)) {}

  void TearDown() override { end_(); }

 private:
  std::function<void()> end_;
};

}  // namespace

std::unique_ptr<EtcdCluster>& EtcdCluster::held() {
  static std::unique_ptr<EtcdCluster> cluster;
  return cluster;
}

EtcdCluster* EtcdCluster::get() {
  static bool tried = false;
  if (tried) return held().get();
  tried = true;
  // Members inherit it: by themselves they collect garbage again and again while there is hardly
  // any, and wake a thread for each processor.
  setenv("GOGC", "400", 0);
  setenv("GOMAXPROCS", "1", 0);
  held() = make({});
  ::testing::AddGlobalTestEnvironment(new Ending([] { held().reset(); }));
  return held().get();
}

std::unique_ptr<EtcdCluster> EtcdCluster::make(const EtcdClusterOptions& options) {
  if (program().empty()) {
    reason() = "no etcd is installed (Debian: etcd-server)";
    return nullptr;
  }
  // Another program may have taken a port meanwhile.
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<EtcdCluster> cluster(new EtcdCluster(options));
    if (cluster->is_up(kStartLimit)) return cluster;
    reason() = "members of etcd did not come up here: " + cluster->last_words();
  }
  return nullptr;
}

const std::string& EtcdCluster::why_not() { return reason(); }

EtcdCluster::EtcdCluster(EtcdClusterOptions options) : options_(std::move(options)) {
  // In memory where there is such a folder: the members sync every write.
  const std::filesystem::path memory = "/dev/shm";
  const auto base =
      access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  static int number = 0;
  folder_ = base / ("orrery-etcd-" + std::to_string(getpid()) + "-" + std::to_string(number++));
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directory(folder_);
  const std::size_t members = options_.members;
  client_ports_ = free_ports(2 * members);
  const auto middle = client_ports_.begin() + static_cast<std::ptrdiff_t>(members);
  peer_ports_.assign(middle, client_ports_.end());
  client_ports_.erase(middle, client_ports_.end());
  processes_.resize(members);
  for (std::size_t i = 0; i < members; ++i) start(i);
  client_ = EtcdClient::make(settings()).value();
}

EtcdCluster::~EtcdCluster() {
  for (std::size_t i = 0; i < options_.members; ++i) kill(i);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

EtcdSettings EtcdCluster::settings() const {
  EtcdSettings settings;
  for (const int port : client_ports_)
    settings.endpoints.push_back("127.0.0.1:" + std::to_string(port));
  settings.patience = std::chrono::seconds(30);  // For machines with much else to do.
  if (options_.tls) {
    settings.ca_file = options_.tls->ca;
    settings.certificate_file = options_.tls->certificate;
    settings.key_file = options_.tls->key;
  }
  return settings;
}

void EtcdCluster::start(std::size_t member) {
  if (processes_[member] != 0) return;
  std::string cluster;
  for (std::size_t i = 0; i < options_.members; ++i)
    cluster += (i > 0 ? ",m" : "m") + std::to_string(i) + "=" + url(peer_ports_[i]);
  const std::string name = "m" + std::to_string(member);
  std::string client = url(client_ports_[member]);
  if (options_.tls) client.insert(4, "s");
  const std::string peer = url(peer_ports_[member]);
  std::vector<std::string> words{program(),
                                 "--name=" + name,
                                 "--data-dir=" + (folder_ / name).string(),
                                 "--listen-client-urls=" + client,
                                 "--advertise-client-urls=" + client,
                                 "--listen-peer-urls=" + peer,
                                 "--initial-advertise-peer-urls=" + peer,
                                 "--initial-cluster=" + cluster,
                                 "--initial-cluster-token=" + folder_.filename().string(),
                                 "--initial-cluster-state=new"};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  if (options_.tls)
    for (const std::string& word : {"--cert-file=" + options_.tls->certificate,
                                    "--key-file=" + options_.tls->key,
                                    "--trusted-ca-file=" + options_.tls->ca,
                                    std::string("--client-cert-auth")})
      words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = (folder_ / (name + ".log")).string();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  processes_[member] = child;
}

void EtcdCluster::kill(std::size_t member) {
  if (processes_[member] <= 0) return;
  ::kill(processes_[member], SIGKILL);
  waitpid(processes_[member], nullptr, 0);
  processes_[member] = 0;
}

std::string EtcdCluster::last_words() const {
  std::string out;
  for (std::size_t i = 0; i < options_.members; ++i) {
    std::ifstream log(folder_ / ("m" + std::to_string(i) + ".log"));
    std::string line;
    std::string last;
    while (std::getline(log, line)) last = line;
    out += last + "\n";
  }
  return out;
}

bool EtcdCluster::is_up(std::chrono::seconds within) const {
  constexpr int kLook = WEXITED | WNOHANG | WNOWAIT;
  siginfo_t ended{};
  const auto limit = std::chrono::steady_clock::now() + within;
  while (std::chrono::steady_clock::now() < limit) {
    for (const int process : processes_)
      if (process > 0 && waitid(P_PID, static_cast<id_t>(process), &ended, kLook) == 0 &&
          ended.si_pid != 0)
        return false;
    std::size_t agreeing = 0;
    std::uint64_t leader = 0;
    for (std::size_t i = 0; i < options_.members; ++i) {
      const auto status = client_->status_of(i);
      if (!status || status->leader == 0) break;
      if (i == 0) leader = status->leader;
      agreeing += status->leader == leader ? 1 : 0;
    }
    if (agreeing == options_.members) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::size_t EtcdCluster::leader() const {
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < limit)
    for (std::size_t i = 0; i < options_.members; ++i) {
      const auto status = client_->status_of(i);
      if (status && status->leader != 0 && status->leader == status->member) return i;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  ADD_FAILURE() << "etcd has no leader";
  return 0;
}

void EtcdCluster::heal() {
  for (std::size_t i = 0; i < options_.members; ++i) start(i);
  EXPECT_TRUE(is_up(kStartLimit)) << "etcd does not come back";
}

void EtcdTest::SetUp() {
  if (EtcdCluster::get() == nullptr) GTEST_SKIP() << EtcdCluster::why_not();
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  prefix_ = std::string("/test/") + test->name();
  client_ = EtcdClient::make(cluster().settings()).value();
}

void EtcdTest::nap(int look) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(2 + look / 4, 20)));
}

}  // namespace orrery::runtime
