// Several controllers: which of them is asked when one is frozen, cut off, or no longer leads.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/client/client.hpp"

namespace orrery::cli {
namespace turning_tests {

using std::chrono::milliseconds;

/// A port of this machine. Without answers it is a frozen controller: the system takes the
/// connections, and nobody reads them.
class Port {
 public:
  /// What is sent to the connection of this number, from 0 on, before it is closed; it is left
  /// open where that is without an end of the answer.
  using Answers = std::function<std::string(int)>;

  explicit Port(Answers answers = {}) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, raw, size), 0);
    EXPECT_EQ(::listen(listener_, 64), 0);
    EXPECT_EQ(::getsockname(listener_, raw, &size), 0);
    address_.port = ntohs(address.sin_port);
    if (answers_) thread_ = std::thread([this] { serve(); });
  }

  ~Port() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
    for (const int open : open_) ::close(open);
  }

  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  const ServerAddress& address() const { return address_; }

  std::string url() const { return address_.text(); }

 private:
  void serve() {
    for (int number = 0;; ++number) {
      const int one = ::accept(listener_, nullptr, nullptr);
      if (one < 0) return;
      std::string request;
      char bytes[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(one, bytes, sizeof bytes, 0);
        if (got <= 0) break;
        request.append(bytes, static_cast<std::size_t>(got));
      }
      const std::string answer = answers_(number);
      ::send(one, answer.data(), answer.size(), MSG_NOSIGNAL);
      open_.push_back(one);
    }
  }

  Answers answers_;
  ServerAddress address_;
  int listener_ = -1;
  std::vector<int> open_;
  std::thread thread_;
};

std::string whole(std::string_view status, std::string_view body, std::string_view more = {}) {
  return "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

std::string stream(std::string_view text) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + std::string(text);
}

ClientOptions options(const std::vector<const Port*>& ports) {
  ClientOptions out;
  out.server = ports.front()->address();
  for (std::size_t i = 1; i < ports.size(); ++i) out.others.push_back(ports[i]->address());
  out.timeout = milliseconds(2000);
  out.stream_silence = milliseconds(50);
  return out;
}

// It waited for the frozen one until the time was over, while the other one led.
TEST(Turning, AReadLeavesAControllerThatIsFrozen) {
  const Port frozen;
  const Port leader([](int) { return whole("200 OK", "led"); });
  Client client(options({&frozen, &leader}));
  const Result<HttpReply> reply = client.send({.target = "/"});
  ASSERT_TRUE(reply.has_value()) << reply.errors().front().text();
  EXPECT_EQ(reply->body, "led");
  EXPECT_EQ(client.options().server.text(), leader.url()) << "the one that answers is first now";
}

TEST(Turning, AReadWaitsForTheOtherOneToLead) {
  const Port frozen;
  const Port next([&](int number) {
    // First it still takes the frozen one for the leader, then it knows none, then it leads.
    if (number == 0)
      return whole("307 Temporary Redirect", "", "Location: " + frozen.url() + "/\r\n");
    return number == 1 ? whole("503 Service Unavailable", "{}") : whole("200 OK", "led");
  });
  Client client(options({&frozen, &next}));
  const Result<HttpReply> reply = client.send({.target = "/"});
  ASSERT_TRUE(reply.has_value()) << reply.errors().front().text();
  EXPECT_EQ(reply->body, "led");
}

// The one that named the leader was forgotten.
TEST(Turning, ALeaderThatFreezesIsLeftForTheOneThatNamedIt) {
  const Port frozen;
  const Port next([&](int number) {
    if (number == 0)
      return whole("307 Temporary Redirect", "", "Location: " + frozen.url() + "/\r\n");
    return whole("200 OK", "led");
  });
  Client client(options({&next}));
  const Result<HttpReply> reply = client.send({.target = "/"});
  ASSERT_TRUE(reply.has_value()) << reply.errors().front().text();
  EXPECT_EQ(reply->body, "led");
}

// The follower came before the others again and again, and the third was never asked.
TEST(Turning, WhereTheOneThatIsNamedDoesNotLeadTheOthersAreAskedToo) {
  const Port deposed([](int) { return whole("503 Service Unavailable", "{}"); });
  const Port follower([&](int) {
    return whole("307 Temporary Redirect", "", "Location: " + deposed.url() + "/\r\n");
  });
  const Port leader([](int) { return whole("200 OK", "led"); });
  for (const std::vector<const Port*>& servers :
       {std::vector<const Port*>{&follower, &leader},
        std::vector<const Port*>{&follower, &leader, &deposed},
        std::vector<const Port*>{&follower, &deposed, &leader}}) {
    Client client(options(servers));
    const Result<HttpReply> reply = client.send({.target = "/"});
    ASSERT_TRUE(reply.has_value()) << reply.errors().front().text();
    EXPECT_EQ(reply->body, "led");
    EXPECT_EQ(client.options().server.text(), leader.url());
  }
}

TEST(Turning, AChangeIsSentOnce) {
  const Port frozen;
  int asked = 0;
  {
    const Port leader([&](int) {
      ++asked;
      return whole("200 OK", "led");
    });
    Client client(options({&frozen, &leader}));
    const Result<HttpReply> reply = client.send({.method = "POST", .target = "/"});
    ASSERT_FALSE(reply.has_value());
    EXPECT_NE(reply.errors().front().text().find("may be done all the same"), std::string::npos);
  }
  EXPECT_EQ(asked, 0);
}

TEST(Turning, ASilentStreamIsLeftForTheNextController) {
  const Port silent([](int) { return stream("data: 1\n\n"); });
  const Port leader([](int) { return stream("data: 2\n\n"); });
  Client client(options({&silent, &leader}));
  std::string seen;
  const auto take = [&](std::string_view text) {
    seen += text;
    return true;
  };
  EXPECT_FALSE(client.follow({.target = "/"}, take).has_value());
  EXPECT_FALSE(client.follow({.target = "/"}, take).has_value());
  EXPECT_EQ(seen, "data: 1\n\ndata: 2\n\n");
}

TEST(Turning, WhereNoneAnswersItIsSaid) {
  const Port one;
  const Port other;
  Client client(options({&one, &other}));
  const Result<HttpReply> reply = client.send({.target = "/"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.errors().front().code, ErrorCode::Unavailable);
}

}  // namespace turning_tests
}  // namespace orrery::cli
