// What a controller and the process of its policy say to each other.
//
// One stream, both ways. A frame is a length (4 bytes, of what follows the kind), a kind (1 byte)
// and that many bytes. The controller begins:
//
//   Begin    the policy, what it saved, and the whole state of the controller
//   Records  events, as the journal holds them, that were stepped since
//   Ask      a plan is due on the state so reached
//
// The process answers Begin with Ready, each Ask with Answer, and says Failed before it ends where
// it can. All integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/control/controller.hpp"
#include "core/job/spec.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"

namespace orrery::runtime {

/// Rises with every change of what is below. Both sides are one program, which says so all the
/// same: a policy of another program will have to.
inline constexpr std::uint16_t kPlannerProtocol = 1;

enum class FrameKind : std::uint8_t { Begin, Records, Ask, Ready, Answer, Failed };

inline constexpr std::size_t kFrameHead = 5;

/// What a frame begins with.
struct FrameHead {
  std::uint32_t size = 0;  ///< Of the bytes that follow.
  std::uint8_t kind = 0;   ///< Not checked yet.
};

FrameHead read_head(std::span<const std::byte, kFrameHead> bytes);

/// Starts a frame and, with its payload written, ends it. One at a time.
class FrameWriter {
 public:
  FrameWriter(ByteWriter& out, FrameKind kind) : out_(out), begin_(out.size()) {
    out_.u32(0);
    out_.u8(static_cast<std::uint8_t>(kind));
  }

  ~FrameWriter() {
    out_.patch_u32(begin_, static_cast<std::uint32_t>(out_.size() - begin_ - kFrameHead));
  }

  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

 private:
  ByteWriter& out_;
  std::size_t begin_;
};

/// Which policy a process runs.
struct PolicySpec {
  std::string name;  ///< Of the registry, without its version.
  std::vector<KeyValue> parameters;
  std::uint64_t seed = 0;
};

struct Begin {
  PolicySpec policy;
  Bytes memory;                      ///< Most that the process may map; 0: no limit.
  std::span<const std::byte> saved;  ///< What the policy saved; empty: it begins anew.
  std::span<const std::byte> state;  ///< As `State::save` writes it.
};

struct Answer {
  Sequence view;
  Plan plan;
  std::optional<std::vector<std::byte>> saved;  ///< With `optimize`: what the policy saves.
};

void write_begin(ByteWriter& out,
                 const PolicySpec& policy,
                 Bytes memory,
                 std::span<const std::byte> saved,
                 const State& state);
bool read_begin(ByteReader& in, Begin& begin);

/// `records`: a length and an event each, as `append_record` makes them.
void write_records(ByteWriter& out, std::span<const std::byte> records);
void append_record(ByteWriter& records, std::span<const std::byte> record);

void write_ask(ByteWriter& out, const PlanRequest& request);
bool read_ask(ByteReader& in, PlanRequest& request);

void write_answer(ByteWriter& out, const Answer& answer);
bool read_answer(ByteReader& in, Answer& answer);

}  // namespace orrery::runtime
