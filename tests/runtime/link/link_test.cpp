// Streams between a server and clients in one process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>

#include "tests/runtime/link/listening.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace link_tests {

using testing::HasSubstr;

constexpr Duration kOpenTimeout = Duration::seconds(30);

std::unique_ptr<LinkServer> serve(LinkListener& listener,
                                  const std::string& address = "127.0.0.1:0",
                                  const LinkLimits& limits = {}) {
  auto server = serve_links(address, {}, limits, listener);
  EXPECT_TRUE(server) << (server ? "" : server.errors().front().text());
  return server ? std::move(*server) : nullptr;
}

std::unique_ptr<LinkDialer> dialer(int connections = 1) {
  return std::move(dial_links({}, connections).value());
}

AgentMessage numbered(std::uint64_t number) {
  return Beat{.session = 1, .number = number, .sent_at = {5}};
}

std::uint64_t number_of(const AgentMessage& message) { return std::get<Beat>(message).number; }

TEST(Link, CarriesThousandsOfMessagesBothWaysInOrderAndOnce) {
  constexpr std::uint64_t kMessages = 5000;
  ServerSide at_server;
  const auto server = serve(at_server);
  at_server.answer([&](LinkId link, const std::vector<AgentMessage>& messages) {
    for (const AgentMessage& message : messages)
      server->send(link, Renewal{.sent_at = {static_cast<std::int64_t>(number_of(message))}});
  });
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open(server->address(), kOpenTimeout, at_client);
  ASSERT_TRUE(at_client.wait_open()) << at_client.heard.why;
  for (std::uint64_t i = 0; i < kMessages; ++i) client->send(numbered(i));
  ASSERT_TRUE(at_client.wait([&] { return at_client.heard.messages.size() >= kMessages; }));
  ASSERT_EQ(at_client.heard.messages.size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i)
    ASSERT_EQ(std::get<Renewal>(at_client.heard.messages[i]).sent_at.ns,
              static_cast<std::int64_t>(i));
  const auto& heard = at_server.heard[at_server.last()];
  ASSERT_TRUE(at_server.wait([&] { return heard.messages.size() >= kMessages; }));
  ASSERT_EQ(heard.messages.size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(number_of(heard.messages[i]), i);
  EXPECT_FALSE(heard.peer.authenticated);
  EXPECT_THAT(heard.peer.address, HasSubstr("127.0.0.1"));
}

TEST(Link, WhatIsSentBeforeItIsOpenArrivesToo) {
  ServerSide at_server;
  const auto server = serve(at_server);
  at_server.when_open([&](LinkId link) { server->send(link, Announcement{.epoch = Epoch{7}}); });
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open(server->address(), kOpenTimeout, at_client);
  client->send(numbered(1));
  EXPECT_TRUE(at_client.wait([&] { return !at_client.heard.messages.empty(); }));
  EXPECT_TRUE(at_client.heard.open);
  EXPECT_TRUE(at_server.wait([&] { return !at_server.heard[at_server.last()].messages.empty(); }));
}

TEST(Link, ServesAUnixSocketThatOnlyItsOwnerMayUse) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder.file("agents.sock");
  ServerSide at_server;
  auto server = serve(at_server, address);
  EXPECT_EQ(server->address(), address);
  EXPECT_EQ(std::filesystem::status(folder.file("agents.sock")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open(address, kOpenTimeout, at_client);
  EXPECT_TRUE(at_client.wait_open()) << at_client.heard.why;

  auto second = serve_links(address, {}, {}, at_server);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.errors().front().text(), HasSubstr("another program listens there"));
}

TEST(Link, ServesIpv6) {
  ServerSide at_server;
  auto served = serve_links("[::1]:0", {}, {}, at_server);
  if (!served) GTEST_SKIP() << "no IPv6 here: " << served.errors().front().text();
  const auto server = std::move(*served);
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open(server->address(), kOpenTimeout, at_client);
  EXPECT_TRUE(at_client.wait_open()) << at_client.heard.why;
}

TEST(Link, AnAddressThatIsTakenOrUnsoundIsRefused) {
  ServerSide at_server;
  const auto server = serve(at_server);
  auto second = serve_links(server->address(), {}, {}, at_server);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.errors().front().text(), HasSubstr("Address already in use"));
  EXPECT_FALSE(serve_links("nonsense", {}, {}, at_server));
  auto foreign = serve_links("127.0.0.1.example:0", {}, {}, at_server);
  ASSERT_FALSE(foreign);
}

TEST(Link, PlaintextIsRefusedWhereOthersCouldReachIt) {
  ServerSide at_server;
  auto server = serve_links("0.0.0.0:0", {}, {}, at_server);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.errors().front().text(), HasSubstr("mutual TLS is needed"));
  ClientSide at_client;
  const auto dialing = dialer();
  const auto client = dialing->open("192.0.2.1:22101", kOpenTimeout, at_client);
  ASSERT_TRUE(at_client.wait_closed());
  EXPECT_THAT(at_client.heard.why, HasSubstr("mutual TLS is needed"));
}

TEST(Link, AMissingListenerIsReportedAtOnce) {
  const TemporaryFolder folder;
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open("unix:" + folder.file("nobody.sock"), kOpenTimeout, at_client);
  ASSERT_TRUE(at_client.wait_closed());
  EXPECT_FALSE(at_client.heard.open);
  EXPECT_THAT(at_client.heard.why, HasSubstr("nobody.sock"));
}

TEST(Link, TheServerClosesAndSaysWhyAfterWhatItSent) {
  ServerSide at_server;
  const auto server = serve(at_server);
  const auto dialing = dialer();
  ClientSide at_client;
  const auto client = dialing->open(server->address(), kOpenTimeout, at_client);
  ASSERT_TRUE(at_client.wait_open());
  for (int i = 0; i < 100; ++i) server->send(at_server.last(), Announcement{.epoch = Epoch{7}});
  server->close(at_server.last(), "node n7 is not in the cluster");
  server->send(at_server.last(), Announcement{.epoch = Epoch{8}});
  ASSERT_TRUE(at_client.wait_closed());
  EXPECT_THAT(at_client.heard.why, HasSubstr("node n7 is not in the cluster"));
  EXPECT_EQ(at_client.heard.messages.size(), 100U);
  ASSERT_TRUE(at_server.wait([&] { return at_server.heard[at_server.last()].closed; }));
  EXPECT_EQ(at_server.heard[at_server.last()].why, "node n7 is not in the cluster");
}

TEST(Link, TheServerLearnsThatAClientIsGone) {
  ServerSide at_server;
  const auto server = serve(at_server);
  const auto dialing = dialer();
  ClientSide at_client;
  auto client = dialing->open(server->address(), kOpenTimeout, at_client);
  ASSERT_TRUE(at_client.wait_open());
  client.reset();
  ASSERT_TRUE(at_server.wait([&] { return at_server.heard[at_server.last()].closed; }));
  EXPECT_FALSE(at_client.heard.closed) << "a listener was called after its client was destroyed";
}

TEST(Link, AnEndingServerTellsItsClientsAndTheNextOneTakesThemOn) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder.file("agents.sock");
  const auto dialing = dialer();
  for (int life = 0; life < 3; ++life) {
    ServerSide at_server;
    auto server = serve(at_server, address);
    ClientSide at_client;
    std::unique_ptr<LinkClient> client;
    // The connection of the life before may still be dying.
    for (int attempt = 0; attempt < 1000 && !at_client.heard.open; ++attempt) {
      at_client.heard = {};
      client = dialing->open(address, kOpenTimeout, at_client);
      at_client.wait_open();
    }
    ASSERT_TRUE(at_client.heard.open) << at_client.heard.why;
    server.reset();
    ASSERT_TRUE(at_client.wait_closed());
    EXPECT_THAT(at_client.heard.why, HasSubstr("the controller ends"));
    EXPECT_TRUE(at_server.heard[at_server.last()].closed);
  }
}

TEST(Link, ManyStreamsShareFewConnections) {
  constexpr std::size_t kStreams = 300;
  ServerSide at_server;
  const auto server = serve(at_server);
  at_server.answer([&](LinkId link, const std::vector<AgentMessage>& messages) {
    for (const AgentMessage& message : messages)
      server->send(link, Renewal{.sent_at = {static_cast<std::int64_t>(number_of(message))}});
  });
  const auto dialing = dialer(3);
  std::vector<ClientSide> sides(kStreams);
  std::vector<std::unique_ptr<LinkClient>> clients;
  for (ClientSide& side : sides)
    clients.push_back(dialing->open(server->address(), kOpenTimeout, side));
  for (std::size_t i = 0; i < kStreams; ++i) {
    ASSERT_TRUE(sides[i].wait_open()) << sides[i].heard.why;
    clients[i]->send(numbered(i));
  }
  for (std::size_t i = 0; i < kStreams; ++i) {
    ASSERT_TRUE(sides[i].wait([&] { return !sides[i].heard.messages.empty(); }));
    EXPECT_EQ(std::get<Renewal>(sides[i].heard.messages[0]).sent_at.ns,
              static_cast<std::int64_t>(i));
  }
  std::map<std::string, int> connections;
  for (const auto& [link, heard] : at_server.heard) ++connections[heard.peer.address];
  EXPECT_EQ(connections.size(), 3U);
}

}  // namespace link_tests
}  // namespace orrery::runtime
