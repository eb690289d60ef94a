#include "sim/reports/perfetto_trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {
namespace {

/// A field of a message: a number, or bytes.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

std::uint64_t varint_of(std::string_view& data) {
  std::uint64_t value = 0;
  for (int shift = 0; !data.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(data.front());
    data.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::vector<Field> fields_of(std::string_view data) {
  std::vector<Field> out;
  while (!data.empty()) {
    const std::uint64_t tag = varint_of(data);
    Field field{tag >> 3, 0, {}};
    if ((tag & 7) == 0) {
      field.value = varint_of(data);
    } else {
      const std::size_t size = (tag & 7) == 1 ? 8 : varint_of(data);
      field.bytes = data.substr(0, size);
      data.remove_prefix(std::min(size, data.size()));
    }
    out.push_back(field);
  }
  return out;
}

Field field(std::string_view data, std::uint64_t number) {
  for (const Field& each : fields_of(data))
    if (each.number == number) return each;
  return {};
}

/// How many events of each type stand on the tracks of each name: "node 0: 1 2".
std::map<std::string, std::vector<std::uint64_t>> types_by_track(const std::string& trace) {
  std::map<std::uint64_t, std::string> names;
  std::map<std::string, std::vector<std::uint64_t>> out;
  for (const Field& packet : fields_of(trace)) {
    if (const Field track = field(packet.bytes, 60); track.number == 60)
      names[field(track.bytes, 1).value] = field(track.bytes, 2).bytes;
    if (const Field event = field(packet.bytes, 11); event.number == 11)
      out[names.at(field(event.bytes, 11).value)].push_back(field(event.bytes, 9).value);
  }
  return out;
}

using Types = std::vector<std::uint64_t>;

TEST(PerfettoTrace, JobsThatShareADeviceStandOnTracksOfTheirOwn) {
  using tests::operator+;
  Recorded run({tests::nodes_of(1, 1)});
  const JobId a = run.come(tests::job("a").share(300));
  const JobId b = run.come(tests::job("b").share(500));
  run.plan(tests::grant(a, 1) + tests::grant(b, 1));
  run.tell();
  run.settle();
  run.tell();
  run.wait_s(10);
  run.timeline.close(run.now);
  JobTable jobs;
  jobs.add(a, {.name = "a", .submitted = Instant::zero()});
  jobs.add(b, {.name = "b", .submitted = Instant::zero()});
  std::ostringstream out;
  (void)write_perfetto_trace(out, run.timeline, jobs, {});
  const auto types = types_by_track(out.str());
  EXPECT_EQ(types.at("device 0"), (Types{1, 2}));
  EXPECT_EQ(types.at("device 0, shared"), (Types{1, 2}));
}

TEST(PerfettoTrace, LinksAreCounters) {
  Timeline timeline({});
  timeline.declare_links({"uplink 0", "uplink 1"});
  timeline.link_used(Instant{5}, 1, 0.5);
  timeline.link_used(Instant{9}, 1, 0.25);
  timeline.close(Instant{10});
  std::ostringstream out;
  (void)write_perfetto_trace(out, timeline, JobTable(), {});
  const auto types = types_by_track(out.str());
  EXPECT_EQ(types.at("uplink 1"), (Types{4, 4}));
  EXPECT_FALSE(types.contains("uplink 0"));
}

TEST(PerfettoTrace, EndsWhereItIsFull) {
  Recorded run({tests::nodes_of(1, 1)});
  JobTable jobs;
  for (const char* name : {"a", "b", "c"}) {
    const JobId id = run.come(tests::job(name));
    jobs.add(id, {.name = name, .submitted = run.now});
    run.plan(tests::grant(id, 1));
    run.tell();
    run.settle();
    run.tell();
    run.wait_s(10);
    run.succeed(id, 0);
    run.tell();
  }
  run.timeline.close(run.now);
  std::ostringstream out;
  const PerfettoOutcome outcome =
      write_perfetto_trace(out, run.timeline, jobs, {}, {.slices_max = 2});
  EXPECT_EQ(outcome.segments_left_out, 1U);
  EXPECT_EQ(outcome.left_out_from, Instant::zero() + Duration::seconds(20));
  const auto types = types_by_track(out.str());
  EXPECT_EQ(types.at("device 0"), (Types{1, 2, 1, 2}));
  EXPECT_TRUE(types.contains("b"));
  EXPECT_FALSE(types.contains("c"));
}

}  // namespace
}  // namespace orrery::sim
