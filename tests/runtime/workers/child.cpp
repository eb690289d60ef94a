#include "tests/runtime/workers/child.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::worker {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int input[2];
  int output[2];
  invariant(::pipe2(input, O_CLOEXEC) == 0 && ::pipe2(output, O_CLOEXEC) == 0, "pipes");
  const Descriptor child_input(input[0]);
  const Descriptor child_output(output[1]);
  input_ = Descriptor(input[1]);
  output_ = Descriptor(output[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, child_input.number(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, child_output.number(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, child_output.number(), 2);
  const int error = ::posix_spawn(&pid_,
                                  command.front().c_str(),
                                  &actions,
                                  nullptr,
                                  pointers(command).data(),
                                  pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  invariant(error == 0, "the program of a test starts");
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      unread_(std::move(other.unread_)),
      heard_(std::move(other.heard_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::tell(const std::string& line) {
  const std::string text = line + "\n";
  invariant(::write(input_.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
            "a line to a child");
}

std::optional<std::string> Child::next_line() {
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd ready{output_.number(), POLLIN, 0};
    if (::poll(&ready, 1, kPatience_ms) <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t got = ::read(output_.number(), bytes, sizeof bytes);
    if (got <= 0) return std::nullopt;
    unread_.append(bytes, static_cast<std::size_t>(got));
    heard_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::optional<std::string> Child::line_with(const std::string& text) {
  for (std::optional<std::string> line = next_line(); line; line = next_line())
    if (line->find(text) != std::string::npos) return line;
  return std::nullopt;
}

void Child::signal(int number) {
  if (pid_ >= 0) ::kill(pid_, number);
}

int Child::exit_code() {
  // Its output ends when it does.
  while (next_line()) {
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience_ms);
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) return -1;
    ::poll(nullptr, 0, 1);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ReservedPort::ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* at = reinterpret_cast<sockaddr*>(&address);
  invariant(
      ::bind(socket_.number(), at, size) == 0 && ::getsockname(socket_.number(), at, &size) == 0,
      "a free port");
  number_ = ntohs(address.sin_port);
}

}  // namespace orrery::worker
