// The solver with CLP and CBC (COIN-OR).
#include <CbcHeuristic.hpp>
#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcHeuristicRENS.hpp>
#include <CbcHeuristicRINS.hpp>
#include <CbcModel.hpp>
#include <CglClique.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <CglPreProcess.hpp>
#include <CglProbing.hpp>
#include <ClpSimplex.hpp>
#include <CoinError.hpp>
#include <CoinMessageHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "policies/solver/dense_factors.hpp"
#include "policies/solver/program.hpp"

namespace orrery::solver {
namespace {

/// Drops every message, whatever its level.
class Silence final : public CoinMessageHandler {
 public:
  Silence() { setLogLevel(0); }

  int print() override { return 0; }

  CoinMessageHandler* clone() const override { return new Silence(*this); }
};

/// The program in the library's form, always to be minimised.
struct Matrix {
  explicit Matrix(const Program& program) : sign(program.sense() == Sense::Minimise ? 1 : -1) {
    for (const Column& column : program.columns()) {
      column_lower.push_back(bound(column.lower));
      column_upper.push_back(bound(column.upper));
      objective.push_back(sign * column.objective);
    }
    std::vector<CoinBigIndex> starts{0};
    std::vector<int> columns;
    std::vector<double> values;
    for (std::int32_t row = 0; row < program.rows(); ++row) {
      for (const Entry& entry : program.row(row)) {
        columns.push_back(entry.column);
        values.push_back(entry.value);
      }
      starts.push_back(static_cast<CoinBigIndex>(columns.size()));
      row_lower.push_back(bound(program.row_lower(row)));
      row_upper.push_back(bound(program.row_upper(row)));
    }
    by_row = CoinPackedMatrix(false,
                              static_cast<int>(program.columns().size()),
                              program.rows(),
                              starts.back(),
                              values.data(),
                              columns.data(),
                              starts.data(),
                              nullptr);
  }

  static double bound(double value) { return std::clamp(value, -COIN_DBL_MAX, COIN_DBL_MAX); }

  double sign;
  CoinPackedMatrix by_row;
  std::vector<double> column_lower;
  std::vector<double> column_upper;
  std::vector<double> objective;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
};

/// Values as the interface promises them: within bounds, and whole where they are to be.
Solution with_values(const Program& program, Status status, const double* values) {
  Solution out;
  out.status = status;
  out.values.reserve(program.columns().size());
  for (const Column& column : program.columns()) {
    double value = *values++;
    if (column.integer) value = std::round(value);
    value = std::clamp(value, column.lower, column.upper) + 0.0;  // No negative zero.
    out.values.push_back(value);
    out.objective += column.objective * value;
  }
  return out;
}

Solution without_values(Status status) {
  Solution out;
  out.status = status;
  return out;
}

/// As ClpSimplex::status tells it, but for an optimum.
Status status_of(const ClpSimplex& simplex) {
  if (simplex.status() == 1) return Status::Infeasible;
  if (simplex.status() == 2) return Status::Unbounded;
  return Status::Limit;
}

/// Perturbation would save pivots of degenerate programs; it calls `pow`, which differs between
/// processors.
void settle_options(ClpSimplex& simplex, const Limits& limits, Silence& silence) {
  constexpr int kNoPerturbation = 100;
  simplex.passInMessageHandler(&silence);
  simplex.setLogLevel(0);
  simplex.setPerturbation(kNoPerturbation);
  simplex.setMaximumIterations(limits.iterations);
  simplex.setRandomSeed(1);
}

Solution solve_linear(const Program& program, const Limits& limits, Silence& silence) {
  const Matrix matrix(program);
  ClpSimplex simplex;
  settle_options(simplex, limits, silence);
  simplex.loadProblem(matrix.by_row,
                      matrix.column_lower.data(),
                      matrix.column_upper.data(),
                      matrix.objective.data(),
                      matrix.row_lower.data(),
                      matrix.row_upper.data());
  simplex.dual();
  // The dual method tells that there is no dual solution; whether there is a primal one, the
  // primal method finds out.
  if (simplex.status() != 0) simplex.primal();
  if (simplex.status() != 0) return without_values(status_of(simplex));
  Solution out = with_values(program, Status::Optimal, simplex.primalColumnSolution());
  for (std::int32_t row = 0; row < program.rows(); ++row)
    out.duals.push_back(matrix.sign * simplex.dualRowSolution()[row] + 0.0);
  return out;
}

void add_cuts(CbcModel& model) {
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxProbe(10);
  probing.setMaxLook(10);
  probing.setRowCuts(3);
  CglGomory gomory;
  gomory.setLimit(300);
  CglKnapsackCover knapsack;
  CglClique clique;
  clique.setStarCliqueReport(false);
  clique.setRowCliqueReport(false);
  CglMixedIntegerRounding2 rounding;
  // -1: at the root, and further down as long as they help.
  model.addCutGenerator(&probing, -1, "Probing");
  model.addCutGenerator(&gomory, -1, "Gomory");
  model.addCutGenerator(&knapsack, -1, "Knapsack");
  model.addCutGenerator(&clique, -1, "Clique");
  model.addCutGenerator(&rounding, -1, "MixedIntegerRounding2");
}

/// What finds good answers early; the searches inside are small programs with node limits.
void add_heuristics(CbcModel& model) {
  constexpr int kInnerNodes = 500;
  CbcRounding rounding(model);
  rounding.setSeed(1);
  CbcHeuristicDiveCoefficient dive(model);
  dive.setWhen(3);
  CbcHeuristicRENS fixed_by_relaxation(model);
  fixed_by_relaxation.setFractionSmall(0.6);
  fixed_by_relaxation.setNumberNodes(kInnerNodes);
  CbcHeuristicRINS fixed_by_incumbent(model);
  fixed_by_incumbent.setFractionSmall(0.4);
  fixed_by_incumbent.setNumberNodes(kInnerNodes);
  model.addHeuristic(&rounding, "rounding");
  model.addHeuristic(&dive, "DiveCoefficient");
  model.addHeuristic(&fixed_by_relaxation, "RENS");
  model.addHeuristic(&fixed_by_incumbent, "RINS");
}

/// Branch and cut on what preprocessing has left. The incumbent, if any, is `model.bestSolution()`.
void branch(CbcModel& model, const Limits& limits, Silence& silence) {
  model.passInMessageHandler(&silence);
  model.setLogLevel(0);
  model.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
  model.setRandomSeed(1);
  model.setNumberThreads(0);
  model.setMaximumNodes(limits.nodes);
  model.setAllowableFractionGap(limits.relative_gap);
  model.setAllowableGap(1e-10);
  model.setIntegerTolerance(1e-7);
  model.setNumberStrong(5);
  model.setNumberBeforeTrust(5);
  add_cuts(model);
  add_heuristics(model);
  model.branchAndBound();
}

Status status_of(const CbcModel& model) {
  if (model.isProvenOptimal()) return Status::Optimal;
  if (model.isProvenInfeasible()) return Status::Infeasible;
  if (model.isContinuousUnbounded()) return Status::Unbounded;
  return Status::Limit;
}

Solution solve_mixed(const Program& program, const Limits& limits, Silence& silence) {
  const Matrix matrix(program);
  OsiClpSolverInterface relaxed;
  settle_options(*relaxed.getModelPtr(), limits, silence);
  relaxed.passInMessageHandler(&silence);
  relaxed.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  relaxed.loadProblem(matrix.by_row,
                      matrix.column_lower.data(),
                      matrix.column_upper.data(),
                      matrix.objective.data(),
                      matrix.row_lower.data(),
                      matrix.row_upper.data());
  for (int column = 0; const Column& each : program.columns()) {
    if (each.integer) relaxed.setInteger(column);
    ++column;
  }
  relaxed.getModelPtr()->dual();
  if (relaxed.getModelPtr()->status() != 0) relaxed.getModelPtr()->primal();
  if (relaxed.getModelPtr()->status() != 0)
    return without_values(status_of(*relaxed.getModelPtr()));

  CglPreProcess preprocess;
  preprocess.passInMessageHandler(&silence);
  preprocess.messageHandler()->setLogLevel(0);
  constexpr int kPasses = 5;
  OsiSolverInterface* reduced = preprocess.preProcess(relaxed, false, kPasses);  // Owned by it.
  if (reduced == nullptr) return without_values(Status::Infeasible);
  reduced->setHintParam(OsiDoReducePrint, true, OsiHintTry);
  CbcModel model(*reduced);
  branch(model, limits, silence);
  const Status status = status_of(model);
  if (model.bestSolution() == nullptr)
    return without_values(status == Status::Optimal ? Status::Limit : status);
  preprocess.postProcess(*model.solver());
  return with_values(program, status, relaxed.getColSolution());
}

}  // namespace

bool is_available() { return true; }

std::string_view library() { return "CLP " CLP_VERSION ", CBC " CBC_VERSION; }

Solution solve(const Program& program, const Limits& limits) {
  Silence silence;
  try {
    return program.has_integers() ? solve_mixed(program, limits, silence)
                                  : solve_linear(program, limits, silence);
  } catch (const CoinError&) {
    // What the library throws about numbers it cannot handle.
    return without_values(Status::Limit);
  }
}

}  // namespace orrery::solver
