/// The museum: published concurrency bugs, reduced to the essential part and rewritten.
///
/// Part: check. Each exhibit exists twice. NAME_bug must fail within ten seconds. NAME_repaired must be
/// explored up to its bound without a failure. The exhibits show that the checker finds bugs that testing had
/// missed for years.
#pragma once

#include <check/engine/model.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

/// EXHIBIT(name, "link to the report") { body; `repaired` says which version it is }
#define EXHIBIT(name, link)                                                                                  \
    template <bool repaired>                                                                                 \
    static void name();                                                                                      \
    EKIDEN_MODEL(name##_bug, .about = link, .fails = true) { name<false>(); }                                \
    EKIDEN_MODEL(name##_repaired, .about = link) { name<true>(); }                                           \
    template <bool repaired>                                                                                 \
    static void name()
