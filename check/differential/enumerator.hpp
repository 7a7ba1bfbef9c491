/// All outcomes of a small program that the axioms of C++20 allow, found without running it.
///
/// Part: check (differential). It shares no code with the engine, whose memory model it is compared with.
///
/// The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing Sequential Consistency in C/C++11, PLDI
/// 2017) in the form that C++20 has ([intro.races], [atomics.order], [atomics.fences]). An execution is a
/// choice of the write that each read reads from (rf) and of an order of the writes of each location (mo). It
/// is allowed if
///
///   1. sb and rf have no cycle together (RC11's exclusion of results out of thin air; it excludes load
///   buffering);
///   2. a read-modify-write directly follows the write that it reads from (atomicity);
///   3. no event happens before (hb) one that is coherence-ordered before it (eco, the closure of rf, mo and
///   fr): coherence;
///   4. there is a total order S of the seq_cst operations and fences that agrees with "strongly happens
///   before" and with
///      eco between them, also through fences ([atomics.order] 4).
///
/// C++20's changes to RC11: a release sequence goes on by read-modify-writes alone (P0982), and S need not
/// agree with all of hb, but with "strongly happens before" (P0668).
#pragma once

#include <check/differential/program.hpp>

#include <set>

namespace ekiden::check::differential {

struct allowed {
    std::set<outcome> by_standard; ///< axioms 1 to 4
    std::set<outcome>
        in_order; ///< where S also agrees with sb and rf: what the checker says that it explores
};

/// `p` has at most most_steps steps.
[[nodiscard]] allowed enumerate(const program& p);

} // namespace ekiden::check::differential
