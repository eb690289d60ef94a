// Where a job stands that works in stages on a fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// What all workers of a job do together.
enum class StageActivity : std::uint8_t { None, Work, Save, Restore };

/// The stage that a job is in, and the cycle that it comes from. Which stage of which turn is next
/// follows from the work that is done; nothing of it is kept here.
struct StageRun {
  // What the present workers do, until the membership changes.
  std::vector<GangMember> gang;  ///< By rank; nodes are places in the network.
  Generation gang_of;            ///< None: no gang was formed yet.
  Incarnation gang_newest;
  Cycle cycle;
  std::uint64_t turn = UINT64_MAX;  ///< That `cycle` is of; all ones: of any.
  std::vector<double> ends;  ///< By stage: the share of the turn that is done after it, 1 at last.
  double alone_rate = 0;     ///< Units per second alone on the network.
  bool on_fabric = false;    ///< Work goes over the fabric. Otherwise its rate is constant.
  Stage save;                ///< What a checkpoint sends; no exchange where no size is declared.

  // What is under way.
  StageActivity doing = StageActivity::None;
  StageId id;                     ///< Of it, in the fabric.
  double steps = 0;               ///< Of it.
  double from = 0;                ///< Work: done when it began,
  double to = 0;                  ///< and when it will be complete.
  Instant began;                  ///< Work.
  std::optional<StageId> saving;  ///< A checkpoint that is written beside the work,
  double saving_done = 0;         ///< of so much work.

  // What is due.
  bool save_due = false;           ///< Before the work goes on.
  bool restore_due = false;        ///< The same.
  bool reload = true;              ///< The next work begins with what the last checkpoint holds.
  std::uint32_t checkpoints = 0;   ///< Stamp of the next checkpoint that is still meant.
  bool checkpoints_timed = false;  ///< One is in the cluster's future.
  double measured = 0;             ///< Units per second of the gang's last stage; 0: none yet.
};

}  // namespace orrery::sim
