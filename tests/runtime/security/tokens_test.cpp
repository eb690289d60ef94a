#include "runtime/security/tokens.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/security/secret_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace {

TEST(Tokens, AreFitForAHeaderAndNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = make_token().value();
    EXPECT_EQ(token.size(), 50U);
    EXPECT_EQ(
        token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        std::string::npos);
    tokens.insert(token);
  }
  EXPECT_EQ(tokens.size(), 100U);
}

TEST(TokenFile, LetsInTheTokensThatItHoldsAndNoOthers) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tokens");
  const std::string ann = make_token().value();
  const std::string root = make_token().value();
  ASSERT_TRUE(add_token(file, ann, {Role::User, "ann"}));
  ASSERT_TRUE(add_token(file, root, {Role::Admin, "root"}));
  const auto tokens = TokenFile::open(file);
  ASSERT_TRUE(tokens);
  EXPECT_EQ((*tokens)->identify(ann), (Holder{Role::User, "ann"}));
  EXPECT_EQ((*tokens)->identify(root), (Holder{Role::Admin, "root"}));
  EXPECT_FALSE((*tokens)->identify(""));
  EXPECT_FALSE((*tokens)->identify(ann + "x"));
  EXPECT_FALSE((*tokens)->identify(ann.substr(0, ann.size() - 1)));
  EXPECT_FALSE((*tokens)->identify(make_token().value()));
}

TEST(TokenFile, HoldsNoToken) {
  const TemporaryFolder folder;
  const std::string token = make_token().value();
  ASSERT_TRUE(add_token(folder.file("tokens"), token, {Role::User, "ann"}));
  const std::string text = read_whole_file(folder.file("tokens")).value();
  EXPECT_EQ(text.find(token), std::string::npos);
  EXPECT_EQ(text.find(token.substr(7)), std::string::npos);
}

TEST(TokenFile, FollowsItsFile) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tokens");
  const std::string ann = make_token().value();
  const std::string bob = make_token().value();
  ASSERT_TRUE(add_token(file, ann, {Role::User, "ann"}));
  const auto tokens = TokenFile::open(file);
  ASSERT_TRUE(tokens);
  EXPECT_FALSE((*tokens)->identify(bob));
  ASSERT_TRUE(add_token(file, bob, {Role::User, "bob"}));
  EXPECT_TRUE((*tokens)->identify(bob));
  EXPECT_EQ(revoke_tokens(file, {Role::User, "ann"}).value(), 1U);
  EXPECT_FALSE((*tokens)->identify(ann));
  EXPECT_TRUE((*tokens)->identify(bob));
  EXPECT_FALSE(revoke_tokens(file, {Role::Admin, "bob"})) << "another role";
}

TEST(TokenFile, RefusesEveryTokenWhileItIsUnsoundAndSaysWhy) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tokens");
  const std::string ann = make_token().value();
  ASSERT_TRUE(add_token(file, ann, {Role::User, "ann"}));
  const std::string sound = read_whole_file(file).value();
  const auto tokens = TokenFile::open(file);
  ASSERT_TRUE(tokens);
  ASSERT_TRUE(write_files({{file, sound + "a line\n", true}}, Existing::Replace));
  EXPECT_FALSE((*tokens)->identify(ann));
  ASSERT_EQ((*tokens)->problem().size(), 1U);
  EXPECT_EQ((*tokens)->problem()[0].line, 3);
  ASSERT_TRUE(write_files({{file, sound, true}}, Existing::Replace));
  EXPECT_TRUE((*tokens)->identify(ann));
  EXPECT_TRUE((*tokens)->problem().empty());
  std::remove(file.c_str());
  EXPECT_FALSE((*tokens)->identify(ann));
  EXPECT_FALSE(TokenFile::open(file));
}

TEST(TokenFile, EveryLineThatIsUnsoundIsNamed) {
  const std::string digest(64, 'a');
  const auto parsed = parse_tokens("# head\n\n" + digest + " user ann\n" + digest + " king ann\n" +
                                       digest + " controller ann\n" + digest + " user a/b\n" +
                                       digest + " user ann more\n" + digest + "\nxyz user ann\n",
                                   "tokens");
  ASSERT_FALSE(parsed);
  std::vector<int> lines;
  for (const Error& error : parsed.errors()) lines.push_back(error.line);
  EXPECT_THAT(lines, ::testing::ElementsAre(4, 5, 6, 7, 8, 9));
}

TEST(TokenFile, IsNotChangedWhereItIsUnsound) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tokens");
  std::ofstream(file) << "no token\n";
  EXPECT_FALSE(add_token(file, make_token().value(), {Role::User, "ann"}));
  EXPECT_EQ(read_whole_file(file).value(), "no token\n");
}

TEST(TokenFile, IsRefusedWhereOthersCanReadIt) {
  const TemporaryFolder folder;
  const std::string file = folder.file("tokens");
  const std::string ann = make_token().value();
  ASSERT_TRUE(add_token(file, ann, {Role::User, "ann"}));
  auto tokens = TokenFile::open(file);
  ASSERT_TRUE(tokens);
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_FALSE((*tokens)->identify(ann)) << "also where it was sound before";
  const auto again = TokenFile::open(file);
  ASSERT_FALSE(again);
  EXPECT_NE(again.errors().front().text().find("mode 0644 found"), std::string::npos);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_TRUE((*tokens)->identify(ann));
}

}  // namespace
}  // namespace orrery::runtime
