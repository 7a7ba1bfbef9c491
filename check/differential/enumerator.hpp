/// Enumerates all outcomes of a small program that the axioms of C++20 allow, without running it.
///
/// Part: check (differential). It shares no code with the engine. The engine's memory model is compared with
/// it.
///
/// The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing Sequential Consistency in C/C++11, PLDI
/// 2017) in the form of C++20 ([intro.races], [atomics.order], [atomics.fences]). An execution consists of
/// two choices: for each read, the write that it reads from (rf), and for each location, an order of its
/// writes (mo). It is allowed if all four axioms hold:
///
///   1. The union of sb and rf has no cycle. This is RC11's rule against results out of thin air. It
///      excludes load buffering.
///   2. A read-modify-write directly follows the write that it reads from: atomicity.
///   3. If an event happens before another (hb), it is not coherence-ordered after it (eco, the closure
///      of rf, mo and fr): coherence.
///   4. There is a total order S of the seq_cst operations and fences. It agrees with "strongly happens
///      before" and with eco between them, also through fences ([atomics.order] 4).
///
/// C++20 differs from RC11 in two points. Only read-modify-writes continue a release sequence (P0982). S must
/// agree with "strongly happens before", not with all of hb (P0668).
#pragma once

#include <check/differential/program.hpp>

#include <set>

namespace ekiden::check::differential {

struct allowed {
    std::set<outcome> by_standard; ///< axioms 1 to 4
    /// Axioms 1 to 4, where S also agrees with sb and rf. The engine must find exactly these.
    std::set<outcome> in_order;
};

/// `p` must have at most most_steps steps.
[[nodiscard]] allowed enumerate(const program& p);

} // namespace ekiden::check::differential
