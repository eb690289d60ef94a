#include "runtime/planner/planner_frames.hpp"

#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

FrameHead read_head(std::span<const std::byte, kFrameHead> bytes) {
  ByteReader in(bytes);
  FrameHead head;
  head.size = in.u32();
  head.kind = in.u8();
  return head;
}

void write_begin(ByteWriter& out,
                 const PolicySpec& policy,
                 Bytes memory,
                 std::span<const std::byte> saved,
                 const State& state) {
  const FrameWriter frame(out, FrameKind::Begin);
  Encoder encoder(out);
  out.u16(kPlannerProtocol);
  out.u16(kRecordVersion);
  encoder.put(policy.name);
  encoder.put(policy.parameters);
  encoder.put(policy.seed);
  encoder.put(memory);
  out.string(text_of(saved));
  state.save(out);
}

bool read_begin(ByteReader& in, Begin& begin) {
  const bool is_ours = in.u16() == kPlannerProtocol && in.u16() == kRecordVersion;
  if (!is_ours) return false;
  Decoder decoder(in, kRecordVersion);
  decoder.get(begin.policy.name);
  decoder.get(begin.policy.parameters);
  decoder.get(begin.policy.seed);
  decoder.get(begin.memory);
  begin.saved = bytes_of(in.string());
  begin.state = in.raw(in.remaining());
  return decoder.ok();
}

void write_records(ByteWriter& out, std::span<const std::byte> records) {
  const FrameWriter frame(out, FrameKind::Records);
  out.raw(records);
}

void append_record(ByteWriter& records, std::span<const std::byte> record) {
  records.string(text_of(record));
}

void write_ask(ByteWriter& out, const PlanRequest& request) {
  const FrameWriter frame(out, FrameKind::Ask);
  Encoder encoder(out);
  encoder.put(request.view);
  encoder.put(request.trigger);
  encoder.put(request.job);
}

bool read_ask(ByteReader& in, PlanRequest& request) {
  Decoder decoder(in, kRecordVersion);
  decoder.get(request.view);
  decoder.get(request.trigger);
  decoder.get(request.job);
  return decoder.ok() && in.finished();
}

void write_answer(ByteWriter& out, const Answer& answer) {
  const FrameWriter frame(out, FrameKind::Answer);
  Encoder encoder(out);
  encoder.put(answer.view);
  encoder.put(answer.plan);
  encoder.put(answer.saved.has_value());
  if (answer.saved) out.string(text_of(*answer.saved));
}

bool read_answer(ByteReader& in, Answer& answer) {
  Decoder decoder(in, kRecordVersion);
  decoder.get(answer.view);
  decoder.get(answer.plan);
  if (in.boolean()) {
    const std::span<const std::byte> saved = bytes_of(in.string());
    answer.saved.emplace(saved.begin(), saved.end());
  }
  return decoder.ok() && in.finished();
}

}  // namespace orrery::runtime
