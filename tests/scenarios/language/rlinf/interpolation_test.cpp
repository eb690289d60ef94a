// References and functions in values.
#include "scenarios/language/rlinf/interpolation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace interpolation_tests {

using ::testing::HasSubstr;

constexpr std::string_view kDocument = R"(
actor:
  model: {tensor: 4, name: "qwen", same: "${.tensor}"}
  up: "${..rollout.tensor}"
rollout:
  tensor: ${actor.model.tensor}
  model: ${actor.model}
  folder: /models/${actor.model.name}/${oc.env:STEP,7}
  chosen: ${oc.select:actor.model.tensor,1}
  otherwise: ${oc.select:actor.model.missing,9}
  decoded: ${oc.decode:${oc.env:LIST}}
  dtype: ${torch.dtype:bf16}
  home: ${oc.env:HOME_OF_MODELS}
  key: tensor
  nested: ${actor.model.${.key}}
data:
  length: 2048
  prompt: 512
  left: ${subtract:${data.length},${data.prompt}}
  twice: "${multiply:${.length}, 2}"
  half: ${int_div:${.prompt},3}
  below: ${int_div:-7,2}
  flag: true
  unset: ${not:${data.flag}}
  list: [10, "${data.length}"]
wrong:
  loop: ${wrong.back}
  back: ${wrong.loop}
  missing: ${actor.model.layers}
  text: a ${actor.model} b
  open: "${actor.model"
  function: ${sum:1,2}
  numbers: ${subtract:${actor.model.name},1}
  negation: ${not:${data.length}}
  through: ${wrong.loop.deeper}
  zero: ${int_div:1,0}
)";

class InterpolationTest : public testing::Test {
 protected:
  YamlNode root_ = parse_yaml(kDocument, "t.yaml", 0).value();
  Interpolation values_{root_, [](const std::string& name) -> std::optional<std::string> {
                          if (name == "LIST") return "[1, 2]";
                          return std::nullopt;
                        }};

  std::string at(std::string_view path) const {
    const Result<YamlNode> value = values_.at(path);
    if (!value) return value.errors().front().text();
    return value->is_null() ? "(none)" : value->is_scalar() ? value->scalar : describe(*value);
  }
};

TEST_F(InterpolationTest, ReferencesAreFollowed) {
  EXPECT_EQ(at("actor.model.same"), "4") << "beside it";
  EXPECT_EQ(at("actor.up"), "4") << "one level up, and on from there";
  EXPECT_EQ(at("rollout.tensor"), "4");
  EXPECT_EQ(at("rollout.model"), "a map");
  EXPECT_EQ(at("rollout.model.tensor"), "4") << "through a reference to a map";
  EXPECT_EQ(at("rollout.nested"), "4");
  EXPECT_EQ(at("data.list[1]"), "2048");
  EXPECT_EQ(at("data.list[2]"), "(none)");
  EXPECT_EQ(at("data.nothing.at.all"), "(none)");
  EXPECT_FALSE(values_.at("rollout.tensor")->quoted) << "a number stays one";
}

TEST_F(InterpolationTest, TextsTakeWhatTheyReferToAsText) {
  EXPECT_EQ(at("rollout.folder"), "/models/qwen/7");
  EXPECT_TRUE(values_.at("rollout.folder")->quoted);
}

TEST_F(InterpolationTest, FunctionsAreThoseOfItsDocuments) {
  EXPECT_EQ(at("data.left"), "1536");
  EXPECT_EQ(at("data.twice"), "4096");
  EXPECT_EQ(at("data.half"), "170");
  EXPECT_EQ(at("data.below"), "-4") << "as Python rounds";
  EXPECT_EQ(at("data.unset"), "false");
  EXPECT_EQ(at("rollout.chosen"), "4");
  EXPECT_EQ(at("rollout.otherwise"), "9");
  EXPECT_EQ(at("rollout.decoded"), "a list");
  EXPECT_EQ(at("rollout.dtype"), "bf16");
}

TEST_F(InterpolationTest, WhatCannotBeToldSaysWhy) {
  EXPECT_THAT(at("rollout.home"),
              HasSubstr("rollout.home: HOME_OF_MODELS is not set in the environment; set it"));
  EXPECT_THAT(at("wrong.loop"), HasSubstr("leads back to itself"));
  EXPECT_THAT(at("wrong.through"), HasSubstr("leads back to itself"));
  EXPECT_EQ(at("wrong.missing"),
            "wrong.missing: refers to actor.model.layers, which is not there; correct it");
  EXPECT_THAT(at("wrong.text"), HasSubstr("puts a map into a text"));
  EXPECT_THAT(at("wrong.open"), HasSubstr("does not close it"));
  EXPECT_THAT(at("wrong.function"), HasSubstr("calls sum with 2 values; known are"));
  EXPECT_THAT(at("wrong.numbers"), HasSubstr("two whole numbers are needed"));
  EXPECT_THAT(at("wrong.negation"), HasSubstr("true or false is needed"));
  EXPECT_THAT(at("wrong.zero"), HasSubstr("two whole numbers are needed"));
}

TEST_F(InterpolationTest, HasSaysWhatIsThere) {
  EXPECT_TRUE(values_.has("rollout.model.tensor"));
  EXPECT_FALSE(values_.has("rollout.model.layers"));
  EXPECT_TRUE(values_.has("wrong.loop")) << "it is written, whatever it means";
}

}  // namespace interpolation_tests
}  // namespace orrery::scenarios
