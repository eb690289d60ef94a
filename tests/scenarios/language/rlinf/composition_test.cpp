// Composition of documents by their lists of defaults.
#include "scenarios/language/rlinf/composition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/interpolation.hpp"

namespace orrery::scenarios {
namespace composition_tests {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

CompositionSources sources_of(const Files& files, std::map<std::string, std::string> set = {}) {
  CompositionSources out;
  out.read = [files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
  out.variable = [set](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    if (found == set.end()) return std::nullopt;
    return found->second;
  };
  return out;
}

/// The value at a path, as text; "(none)" where there is none.
std::string at(const Result<Composition>& composed, std::string_view path) {
  if (!composed) return "not composed: " + composed.errors().front().text();
  const Result<YamlNode> value = Interpolation(composed->root).at(path);
  if (!value) return value.errors().front().message;
  return value->is_null() ? "(none)" : value->is_scalar() ? value->scalar : describe(*value);
}

std::vector<std::string> texts(const Result<Composition>& composed) {
  std::vector<std::string> out;
  if (composed) return out;
  for (const Error& error : composed.errors()) out.push_back(error.text());
  return out;
}

constexpr std::string_view kDocument = R"(
defaults:
  - model/large@actor.model
  - env/maze@env.train
  - override hydra/job_logging: stdout
hydra:
  run: {dir: .}
  searchpath: ["file://${oc.env:EMBODIED_PATH}/config/"]
actor:
  model: {layers: 12}
  names: [own]
)";

const Files kFiles{
    {"run/model/large.yaml", "layers: 48\nwidth: 4096\n"},
    {"/srv/embodied/config/env/maze.yaml", "defaults: [base]\nsize: 9\n"},
    {"/srv/embodied/config/env/base.yaml", "size: 3\nname: any\n"},
};

TEST(Composition, PutsFilesBelowTheirKeysAndTheDocumentLast) {
  const auto composed = compose(
      kDocument, "run/train.yaml", sources_of(kFiles, {{"EMBODIED_PATH", "/srv/embodied"}}));
  ASSERT_TRUE(composed) << composed.errors().front().text();
  EXPECT_EQ(at(composed, "actor.model.layers"), "12") << "the document's own";
  EXPECT_EQ(at(composed, "actor.model.width"), "4096");
  EXPECT_EQ(at(composed, "env.train.size"), "9") << "the file's own, over its base";
  EXPECT_EQ(at(composed, "env.train.name"), "any");
  EXPECT_EQ(composed->root.find("hydra"), nullptr);
  EXPECT_EQ(composed->root.find("defaults"), nullptr);
  EXPECT_THAT(composed->files,
              ElementsAre("run/train.yaml",
                          "run/model/large.yaml",
                          "/srv/embodied/config/env/maze.yaml",
                          "/srv/embodied/config/env/base.yaml"));
  const YamlNode& width = *composed->root.find("actor")->find("model")->find("width");
  EXPECT_EQ(width.origin.source, 1u);
  EXPECT_EQ(width.origin.line, 2);
}

TEST(Composition, SelfSaysWhereTheOwnKeysCome) {
  const Files files{{"a.yaml", "size: 1\nkept: yes\n"}};
  EXPECT_EQ(at(compose("defaults: [_self_, a]\nsize: 2\n", "d.yaml", sources_of(files)), "size"),
            "1");
  EXPECT_EQ(at(compose("defaults: [a, _self_]\nsize: 2\n", "d.yaml", sources_of(files)), "size"),
            "2");
}

TEST(Composition, ListsAndScalarsAreReplacedMapsAreMerged) {
  const Files files{{"base.yaml", "list: [1, 2, 3]\nmap: {a: 1, b: {c: 2}}\nmade: {of: map}\n"}};
  const auto composed = compose(
      "defaults: [base]\nlist: [4]\nmap: {b: {d: 3}}\nmade: 7\n", "x.yaml", sources_of(files));
  EXPECT_EQ(at(composed, "list[0]"), "4");
  EXPECT_EQ(at(composed, "list[1]"), "(none)");
  EXPECT_EQ(at(composed, "map.a"), "1");
  EXPECT_EQ(at(composed, "map.b.c"), "2");
  EXPECT_EQ(at(composed, "map.b.d"), "3");
  EXPECT_EQ(at(composed, "made"), "7");
}

TEST(Composition, ADocumentMayBeTheBaseOfAnother) {
  const Files files{{"d/base.yaml", "defaults: [root, model/m@actor.model]\nrunner: {steps: 5}\n"},
                    {"d/root.yaml", "runner: {task_type: reasoning, steps: 1}\n"},
                    {"d/model/m.yaml", "size: 7\n"}};
  const auto composed =
      compose("defaults: [base]\nrunner: {steps: 9}\n", "d/child.yaml", sources_of(files));
  EXPECT_EQ(at(composed, "runner.task_type"), "reasoning");
  EXPECT_EQ(at(composed, "runner.steps"), "9");
  EXPECT_EQ(at(composed, "actor.model.size"), "7");
}

TEST(Composition, OtherFormsOfEntries) {
  const Files files{{"top/shared/m.yaml", "size: 1\n"},
                    {"top/run/group/one.yaml", "a: 1\n"},
                    {"top/run/group/two.yaml", "b: 2\n"},
                    {"top/run/group/global.yaml", "# @package _global_\nseen: 3\n"}};
  const auto composed = compose(R"(
defaults:
  - ../shared/m@model
  - group: one
  - group@other: [one, two]
  - /group/two@absolute
  - group/global
  - optional group/missing
  - group: null
)",
                                "top/run/d.yaml",
                                sources_of(files));
  EXPECT_EQ(at(composed, "model.size"), "1");
  EXPECT_EQ(at(composed, "group.a"), "1") << "below the folder's name where no other is said";
  EXPECT_EQ(at(composed, "other.a"), "1");
  EXPECT_EQ(at(composed, "other.b"), "2");
  EXPECT_EQ(at(composed, "absolute.b"), "2");
  EXPECT_EQ(at(composed, "seen"), "3");
}

TEST(Composition, AllMissingFilesAreToldWithWhatWasSearched) {
  EXPECT_THAT(
      texts(compose(kDocument, "run/train.yaml", sources_of({}))),
      ElementsAre(AllOf(HasSubstr("run/train.yaml:3: defaults: names model/large, and there is no "
                                  "model/large.yaml in run, file://${oc.env:EMBODIED_PATH}/config/ "
                                  "(EMBODIED_PATH is not set in the environment); "),
                        HasSubstr("--config-dir")),
                  HasSubstr("run/train.yaml:4: defaults: names env/maze")));
}

TEST(Composition, FoldersOfTheCallerAreSearchedLast) {
  CompositionSources sources = sources_of({{"more/a.yaml", "x: 1\n"}, {"d/a.yaml", "x: 2\n"}});
  sources.search = {"more"};
  EXPECT_EQ(at(compose("defaults: [a]\n", "d/t.yaml", sources), "x"), "2");
  EXPECT_EQ(at(compose("defaults: [a]\n", "e/t.yaml", sources), "x"), "1");
}

TEST(Composition, FilesThatLeadBackToThemselvesEnd) {
  const Files files{{"a.yaml", "defaults: [b]\n"}, {"b.yaml", "defaults: [a]\n"}};
  EXPECT_THAT(texts(compose("defaults: [a]\n", "t.yaml", sources_of(files))),
              ElementsAre("b.yaml:1: defaults: a leads back to itself; remove it"));
}

TEST(Composition, WhatIsNoListOfFilesIsTold) {
  EXPECT_THAT(
      texts(compose(
          "defaults: [[a], {b: {c: 1}}, \"${x}\", override a: b]\n", "t.yaml", sources_of({}))),
      ElementsAre(HasSubstr("t.yaml:1: defaults: has a list"),
                  HasSubstr("b is a map"),
                  HasSubstr("${x} cannot be followed"),
                  HasSubstr("override a/b cannot be followed")));
  const Files broken{{"a.yaml", "x: [1\n"}};
  EXPECT_THAT(texts(compose("defaults: [a]\n", "t.yaml", sources_of(broken))),
              ElementsAre(HasSubstr("a.yaml:")));
}

TEST(Composition, WordsOfTheCommandLineChangeValues) {
  CompositionSources sources = sources_of({{"a.yaml", "x: {y: 1, z: 2, none: null}\n"}});
  sources.overrides = {"x.y=5", "+x.w=[6, 7]", "~x.z", "x.none=8"};
  const auto composed = compose("defaults: [a]\n", "t.yaml", sources);
  EXPECT_EQ(at(composed, "x.y"), "5");
  EXPECT_EQ(at(composed, "x.w[1]"), "7");
  EXPECT_EQ(at(composed, "x.z"), "(none)");
  EXPECT_EQ(at(composed, "x.none"), "8") << "a null is there";
  sources.overrides = {"x.v=1", "~x.v", "nothing", "model/m@x=large"};
  EXPECT_THAT(texts(compose("defaults: [a]\n", "t.yaml", sources)),
              ElementsAre("x.v=1: the document has no x.v, one is needed; write +x.v=value to add "
                          "it",
                          HasSubstr("~x.v: the document has no x.v"),
                          HasSubstr("nothing: is no change of a value"),
                          HasSubstr("model/m@x=large: is no change of a value")));
}

TEST(Composition, APlacementIsFoundAndItsErrorsNameTheFile) {
  PlacementContext context;
  context.path = "run/t.yaml";
  context.sources = sources_of(
      {{"run/base.yaml", "cluster:\n  num_nodes: 1\n  component_placement: {actor: 0-8}\n"}});
  context.nodes = parse_yaml("[{gpus: 8, gpu_model: H100}]", "", 0).value();
  const auto findings = [&](std::string_view text) {
    const PlacementDocument document =
        read_placement_document(text, PlacementMode::AsWritten, context);
    const PlacementAnswer answer = resolve_placement_document(document);
    std::vector<std::string> out;
    for (const PlacementFinding& finding : answer.findings)
      out.push_back(document.files.at(finding.file) + ":" + std::to_string(finding.at.line) + " " +
                    finding.kind);
    return out;
  };
  EXPECT_THAT(findings("defaults: [base]\n"), ElementsAre("run/base.yaml:3 resource_out_of_range"));
  EXPECT_THAT(findings("defaults: [base]\ncluster: {component_placement: {actor: 0-7}}\n"),
              ElementsAre());
  EXPECT_THAT(findings("defaults: [missing]\n"), ElementsAre("run/t.yaml:1 document"));
  context.sources.overrides = {"actor.x=2"};
  EXPECT_THAT(findings("defaults: [base]\n"), ElementsAre("actor.x=2:0 document"));
}

}  // namespace composition_tests
}  // namespace orrery::scenarios
