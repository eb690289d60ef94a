// The two LAPACK functions that CoinUtils calls.
#pragma once

#include <cstdint>

/// Of a square matrix by columns: rows are exchanged, then it is the product of a lower matrix with
/// ones on its diagonal and an upper one. CoinUtils takes both functions from LAPACK, of which a
/// machine may have several (Debian's alternatives), and the fast ones choose their instructions by
/// processor. A program that has these takes them instead: sums in one order give the same bytes
/// everywhere. It then needs neither LAPACK nor Fortran's library where it is linked statically.
///
/// Arguments and results are LAPACK's: E. Anderson et al., *LAPACK Users' Guide*, 1999.
extern "C" {

/// Factors the m x n matrix `a`, whose columns are `lda` apart, in place. `pivots[i]` (from 1) is
/// the row that row i changed places with; `info` is 0, or i where the i-th diagonal element is
/// zero.
void dgetrf_(const std::int32_t* m,
             const std::int32_t* n,
             double* a,
             const std::int32_t* lda,
             std::int32_t* pivots,
             std::int32_t* info);

/// Solves A x = b, or with `trans` 'T' the transposed system, in place in the n x nrhs matrix `b`,
/// from the factors of `dgetrf_`.
void dgetrs_(const char* trans,
             const std::int32_t* n,
             const std::int32_t* nrhs,
             const double* a,
             const std::int32_t* lda,
             const std::int32_t* pivots,
             double* b,
             const std::int32_t* ldb,
             std::int32_t* info,
             int trans_length);
}
