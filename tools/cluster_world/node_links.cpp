#include "tools/cluster_world/node_links.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using scenarios::LinkDirection;

/// An address of the data link that no interface has: what is sent to it is lost on the way.
constexpr const char* kNobody = "02:00:00:00:00:fe";

std::string program_ip() {
  std::error_code code;
  for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"})
    if (fs::exists(path, code)) return path;
  return {};
}

/// Hands lines to `ip -batch`, behind `before`. Errors: what it says.
Status ip_batch(const std::string& before, const std::string& lines) {
  const std::string command =
      before + program_ip() + " -batch - 2>&1 <<'LINES'\n" + lines + "LINES\n";
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr)
    return Error{.code = ErrorCode::Unavailable, .subject = "ip", .message = std::strerror(errno)};
  std::string said;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) said += part.data();
  if (::pclose(pipe) == 0) return Done{};
  return Error{
      .code = ErrorCode::Unavailable,
      .subject = "links of nodes",
      .message = "ip said: " + said + "Virtual interfaces (veth) are needed; use world model"};
}

/// A process in a network namespace of its own, which waits until it is killed or this one ends.
pid_t hold_namespace() {
  std::array<int, 2> made{};
  if (::pipe2(made.data(), O_CLOEXEC) != 0) return -1;
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char well = ::unshare(CLONE_NEWNET) == 0 ? 1 : 0;
    if (::write(made[1], &well, 1) != 1 || well == 0) ::_exit(1);
    while (true) ::pause();
  }
  ::close(made[1]);
  char well = 0;
  const bool told = holder > 0 && ::read(made[0], &well, 1) == 1;
  ::close(made[0]);
  if (told && well == 1) return holder;
  if (holder > 0) ::waitpid(holder, nullptr, 0);
  return -1;
}

std::string interface_to(NodeId node) { return "to-" + std::to_string(node.value); }

std::string behind(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += word + " ";
  return out;
}

}  // namespace

std::string why_no_links() {
  if (::geteuid() != 0)
    return "needs root, for network namespaces with links between them; run it as root";
  if (program_ip().empty())
    return "needs ip, of the package iproute2; install it: tools/packages --network";
  return {};
}

std::string NodeLinks::host_of(NodeId node) {
  return "10.99." + std::to_string(1 + node.value / 250) + "." +
         std::to_string(1 + node.value % 250);
}

Result<std::unique_ptr<NodeLinks>> NodeLinks::make(std::uint32_t nodes) {
  if (::unshare(CLONE_NEWNET) != 0)
    return Error{.code = ErrorCode::Unavailable,
                 .subject = "links of nodes",
                 .message = std::string("no network namespace: ") + std::strerror(errno) +
                            "; use world model"};
  // The loopback's address serves one interface as well as another, so all nodes reach one address.
  const Status own =
      ip_batch({}, "link set lo up\naddress add " + std::string(kControllerHost) + "/32 dev lo\n");
  if (!own) return own.errors();
  std::unique_ptr<NodeLinks> out(new NodeLinks);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    out->nodes_.push_back({hold_namespace()});
    if (const Status joined = out->join(NodeId{n}); !joined) return joined.errors();
  }
  return out;
}

NodeLinks::~NodeLinks() {
  for (const Node& node : nodes_) {
    if (node.holder <= 0) continue;
    ::kill(node.holder, SIGKILL);
    ::waitpid(node.holder, nullptr, 0);
  }
}

std::vector<std::string> NodeLinks::inside(NodeId node) const {
  return {"/usr/bin/nsenter",
          "--net=/proc/" + std::to_string(nodes_[node.index()].holder) + "/ns/net",
          "--"};
}

Status NodeLinks::join(NodeId node) {
  if (nodes_[node.index()].holder <= 0)
    return Error{.code = ErrorCode::Unavailable,
                 .subject = "links of nodes",
                 .message = "no namespace for node " + std::to_string(node.value)};
  const std::string holder = std::to_string(nodes_[node.index()].holder);
  const std::string here = interface_to(node);
  const Status ours = ip_batch({},
                               "link add " + here + " type veth peer name eth0 netns " + holder +
                                   "\nlink set " + here + " up\nroute add " + host_of(node) +
                                   "/32 dev " + here + " src " + kControllerHost + "\n");
  if (!ours) return ours;
  return ip_batch(behind(inside(node)),
                  "link set lo up\nlink set eth0 up\naddress add " + host_of(node) +
                      "/32 dev eth0\nroute add " + kControllerHost + "/32 dev eth0 src " +
                      host_of(node) + "\n");
}

Status NodeLinks::lose_to(NodeId node, bool lost) const {
  const std::string entry = host_of(node) + " dev " + interface_to(node) + "\n";
  return ip_batch({},
                  lost ? "neigh replace " + host_of(node) + " lladdr " + kNobody +
                             " nud permanent dev " + interface_to(node) + "\n"
                       : "neigh del " + entry);
}

Status NodeLinks::lose_from(NodeId node, bool lost) const {
  const std::string controller = kControllerHost;
  return ip_batch(
      behind(inside(node)),
      lost ? "neigh replace " + controller + " lladdr " + kNobody + " nud permanent dev eth0\n"
           : "neigh del " + controller + " dev eth0\n");
}

Status NodeLinks::change(NodeId node, LinkDirection direction, int by) {
  Node& link = nodes_[node.index()];
  const auto count = [&](int& cuts, Status (NodeLinks::*lose)(NodeId, bool) const) -> Status {
    const bool was = cuts > 0;
    cuts += by;
    return was == (cuts > 0) ? Status(Done{}) : (this->*lose)(node, cuts > 0);
  };
  if (direction != LinkDirection::FromNode)
    if (Status done = count(link.cuts_to, &NodeLinks::lose_to); !done) return done;
  if (direction != LinkDirection::ToNode) return count(link.cuts_from, &NodeLinks::lose_from);
  return Done{};
}

Status NodeLinks::cut(NodeId node, LinkDirection direction) { return change(node, direction, 1); }

Status NodeLinks::mend(NodeId node, LinkDirection direction) { return change(node, direction, -1); }

}  // namespace orrery::cli
