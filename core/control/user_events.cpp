#include "core/control/user_events.hpp"

#include <variant>

#include "core/record/event.hpp"

namespace orrery {
namespace {

// A grant that is none is the policy's fault, not a report that came too late.
UserEvent ignored_event(const Notice& notice) {
  UserEvent event;
  event.name = "ReportIgnored";
  event.message = in_words(notice.ignored);
  if (notice.event_kind != EventKinds(std::in_place_type<PlanProposed>).index()) return event;
  event.severity = Severity::Warning;
  event.name = "GrantDropped";
  event.message = notice.ignored == Ignored::UnknownJob
                      ? "the policy's grant names no job that there is"
                      : "the policy's grant is no allocation: its replicas and nodes do not agree";
  return event;
}

}  // namespace

std::string_view in_words(Reason reason) {
  switch (reason) {
    case Reason::Submitted:
      return "submitted";
    case Reason::Infeasible:
      return "can never fit on the declared nodes";
    case Reason::Granted:
      return "was granted its devices; its workers start";
    case Reason::AllReady:
      return "all workers are ready";
    case Reason::Rescaled:
      return "its number of replicas changes";
    case Reason::Moved:
      return "it moves to other nodes";
    case Reason::Preempted:
      return "its devices were taken back by decision";
    case Reason::WorkerFailed:
      return "a worker failed";
    case Reason::WorkerLost:
      return "a worker was lost: deleted from outside, or killed as the lease of its node ran out";
    case Reason::NodeLost:
      return "a node was lost";
    case Reason::BackoffLimitReached:
      return "a worker failed and the backoff limit is used up";
    case Reason::RequiredSucceeded:
      return "all required workers have succeeded";
    case Reason::StoppedByUser:
      return "stopped by a user";
    case Reason::InvalidSpec:
      return "its specification is not valid";
    case Reason::StartDeadline:
      return "its workers were not ready in time";
    case Reason::ContactLost:
      return "none of its nodes can be reached";
    case Reason::ContactRegained:
      return "its nodes are reached again";
    case Reason::WorkerHung:
      return "a worker made no progress for too long";
    case Reason::WorkerStraggling:
      return "a worker is far slower than its peers";
    case Reason::DeviceLost:
      return "a device was lost under a worker";
    case Reason::NodeLeaving:
      return "a node announced that it goes away";
    case Reason::NodeRelaunched:
      return "a node was replaced";
    case Reason::NodeRelaunchFailed:
      return "a node was to be replaced and was not";
    case Reason::SubMasterLate:
      return "a sub-master did not lead its role's recovery on in time";
    case Reason::WorkerErred:
      return "a worker's program ended with an error";
    case Reason::FailureLimitReached:
      return "a limit on failures is reached";
    case Reason::RecoveryRefused:
      return "the controller was lost while the job did not run, and its recovery is strict";
    case Reason::WaitDeadline:
      return "it waited longer than its deadline allows";
    case Reason::RunDeadline:
      return "it ran longer than its deadline allows";
    case Reason::PortInUse:
      return "a port of a worker is in use by something else on its host; it starts with others";
    case Reason::WorkerStuck:
      return "a worker was killed and does not end; its node is excluded";
    case Reason::NotAdmitted:
      return "its deadline cannot be guaranteed; it runs as best effort, on what others leave";
    case Reason::NodeBlamed:
      return "a worker failed and says that its node is at fault";
    case Reason::CannotStart:
      return "a worker cannot be started, and no other try can help";
  }
  return "";
}

std::string_view in_words(Ignored why) {
  switch (why) {
    case Ignored::UnknownJob:
      return "no such job";
    case Ignored::StaleGeneration:
      return "of an older generation";
    case Ignored::StaleIncarnation:
      return "of an older start of the worker";
    case Ignored::JobFinished:
      return "the job has ended";
    case Ignored::NotInThisPhase:
      return "not possible in this phase";
    case Ignored::AlreadyKnown:
      return "already known";
    case Ignored::UnknownRank:
      return "no worker of this rank";
    case Ignored::UnknownNode:
      return "no such node";
    case Ignored::FixedJob:
      return "the job is fixed";
    case Ignored::OutOfBounds:
      return "outside the bounds";
    case Ignored::DoesNotFit:
      return "does not fit any more";
    case Ignored::OverQuota:
      return "over the quota";
    case Ignored::BadSpecification:
      return "the specification is not valid";
    case Ignored::RecoveryUnderWay:
      return "its scope recovers already";
    case Ignored::StaleIncident:
      return "of a recovery that is over";
  }
  return "";
}

std::string_view in_words(NodeChange change) {
  switch (change) {
    case NodeChange::Silent:
      return "the node's lease ran out";
    case NodeChange::Returned:
      return "the node is heard again";
    case NodeChange::Excluded:
      return "the node is not used any more";
    case NodeChange::Included:
      return "the node is used again";
    case NodeChange::Leaving:
      return "the node announced that it goes away";
    case NodeChange::DeviceLost:
      return "the node lost a device";
    case NodeChange::Relaunched:
      return "the node was replaced";
    case NodeChange::SpareUsed:
      return "the spare node is used now";
    case NodeChange::HeldForCheck:
      return "the node is not used before it has been checked";
    case NodeChange::SpareAgain:
      return "the node is a spare now";
  }
  return "";
}

std::string_view in_words(PlanLoss loss) {
  switch (loss) {
    case PlanLoss::Late:
      return "it did not answer in time";
    case PlanLoss::Ended:
      return "its process ended";
    case PlanLoss::Failed:
      return "it failed";
    case PlanLoss::Unreadable:
      return "its answer is no plan";
    case PlanLoss::TooLarge:
      return "its answer is too large";
    case PlanLoss::NotStarted:
      return "its process could not be started";
    case PlanLoss::OutOfSteps:
      return "it asked its view more often than it may";
  }
  return "";
}

std::string in_words(const PlanChoice& choice) {
  return choice.candidate + " decides from now on" +
         (choice.reason.empty() ? "" : ", " + choice.reason);
}

UserEvent user_event(const Notice& notice) {
  UserEvent event;
  switch (notice.kind) {
    case NoticeKind::PhaseChanged: {
      const bool worrying = notice.to == JobPhase::Restarting ||
                            notice.to == JobPhase::Rescheduling || notice.to == JobPhase::Unknown ||
                            notice.to == JobPhase::Failed;
      event.severity = worrying ? Severity::Warning : Severity::Normal;
      event.name = "Job" + std::string(to_string(notice.to));
      event.message = in_words(notice.reason);
      break;
    }
    case NoticeKind::Allocated:
      event.name = "Allocated";
      event.message = std::to_string(notice.count) + " workers on " +
                      std::to_string(notice.devices) + " devices";
      break;
    case NoticeKind::Counted:
      event.name = "Counted";
      event.message = std::string(to_string(notice.counter)) + ": " + std::to_string(notice.count);
      break;
    case NoticeKind::IgnoredReport:
      event = ignored_event(notice);
      break;
    case NoticeKind::GrantDropped:
      event.severity = Severity::Warning;
      event.name = "GrantDropped";
      event.message = in_words(notice.ignored);
      break;
    case NoticeKind::GrantClipped:
      event.name = "GrantClipped";
      event.message = "granted less than proposed: more is not allowed or does not fit";
      break;
    case NoticeKind::PlanLost:
      event.severity = Severity::Warning;
      event.name = "PlanLost";
      event.message =
          "the policy gave no plan, allocations stay: " + std::string(in_words(notice.loss));
      break;
    case NoticeKind::PolicyChosen:
      event.name = "PolicyChosen";
      event.message = "another policy decides from now on";
      break;
    case NoticeKind::NodeChanged:
      event.severity = notice.up ? Severity::Normal : Severity::Warning;
      event.name = "Node" + std::string(to_string(notice.change));
      event.message = in_words(notice.change);
      break;
    case NoticeKind::IncidentOpened:
      event.severity = Severity::Warning;
      event.name = "IncidentOpened";
      event.message = "incident " + std::to_string(notice.incident) + ": " +
                      std::string(in_words(notice.reason)) +
                      (notice.charged ? "; charged to the backoff limit" : "; not charged");
      break;
    case NoticeKind::IncidentClosed:
      event.name = "IncidentClosed";
      event.message = "incident " + std::to_string(notice.incident) + " is over";
      break;
    case NoticeKind::WorkerRestarted:
      event.name = "WorkerRestarted";
      event.message = "role " + std::to_string(notice.role.value) + ", replica " +
                      std::to_string(notice.local_rank);
      break;
    case NoticeKind::WorkerSuspected:
      event.severity = Severity::Warning;
      event.name = "WorkerSuspected";
      event.message = "role " + std::to_string(notice.role.value) + ", replica " +
                      std::to_string(notice.local_rank) + " is " +
                      std::string(to_string(notice.suspicion));
      break;
    case NoticeKind::WorkLost:
      event.severity = Severity::Warning;
      event.name = "WorkLost";
      event.message = "back to the last checkpoint";
      break;
    case NoticeKind::WorkersReported:
      event.severity =
          is_up(notice.fact) || (notice.fact == WorkerFact::Exited && notice.exit_code == 0)
              ? Severity::Normal
              : Severity::Warning;
      event.name = "Workers" + std::string(to_string(notice.fact));
      event.message =
          std::to_string(notice.count) + " from rank " + std::to_string(notice.first.value) +
          (notice.fact == WorkerFact::Exited ? ", exit code " + std::to_string(notice.exit_code)
                                             : "");
      break;
  }
  return event;
}

}  // namespace orrery
