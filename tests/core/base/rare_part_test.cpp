#include "core/base/rare_part.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

TEST(RarePart, ReadsAsTheUsualValueUntilItIsEdited) {
  RarePart<std::vector<int>> part;
  EXPECT_TRUE(part->empty());
  part.edit().push_back(3);
  EXPECT_EQ(*part, std::vector<int>{3});
  part.clear();
  EXPECT_TRUE(part->empty());
}

TEST(RarePart, CopiesTheValue) {
  RarePart<std::string> one{std::string("a")};
  RarePart<std::string> two = one;
  two.edit() += "b";
  EXPECT_EQ(*one, "a");
  EXPECT_EQ(*two, "ab");
  one = two;
  two.edit() += "c";
  EXPECT_EQ(*one, "ab");
  const RarePart<std::string> three = std::move(one);
  EXPECT_EQ(*three, "ab");
}

TEST(RarePart, EqualsByValueWhetherOrNotItHasMemory) {
  RarePart<std::string> edited;
  edited.edit() = "a";
  EXPECT_FALSE(edited == RarePart<std::string>{});
  edited.edit().clear();
  EXPECT_TRUE(edited == RarePart<std::string>{});
}

TEST(RarePart, TidyKeepsWhatIsUnusual) {
  RarePart<std::string> part;
  const std::string* usual = &*part;
  part.edit() = "a";
  part.tidy();
  EXPECT_EQ(*part, "a");
  part.edit().clear();
  EXPECT_NE(&*part, usual);
  part.tidy();
  EXPECT_EQ(&*part, usual) << "the memory is given back";
}

TEST(RarePart, IsReadOverWhatItWas) {
  for (const char* written : {"", "new"}) {
    SCOPED_TRACE(written);
    ByteWriter bytes;
    Encoder(bytes).put(RarePart<std::string>{std::string(written)});
    ByteReader reader(bytes.bytes());
    RarePart<std::string> part{std::string("old")};
    Decoder(reader).get(part);
    EXPECT_TRUE(reader.finished());
    EXPECT_EQ(*part, written);
  }
}

TEST(RarePart, IsRecordedAsItsValue) {
  const auto bytes_of = [](const auto& value) {
    ByteWriter bytes;
    Encoder(bytes).put(value);
    return std::string(bytes.text());
  };
  RarePart<std::string> part;
  EXPECT_EQ(bytes_of(part), bytes_of(std::string{}));
  part.edit() = "abc";
  const std::string text = bytes_of(part);
  EXPECT_EQ(text, bytes_of(std::string("abc")));
  ByteReader in(std::as_bytes(std::span(text)));
  Decoder decoder(in);
  RarePart<std::string> back{std::string("before")};
  decoder.get(back);
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(*back, "abc");
}

}  // namespace
}  // namespace orrery
