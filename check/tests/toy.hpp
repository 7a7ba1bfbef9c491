/// Explores toy programs for the tests of the engine.
#pragma once

#include <check/engine/explorer.hpp>

#include <doctest/doctest.h>

#include <string>

namespace toy {

namespace check = ekiden::check;

inline check::result run(void (*body)(), check::options how = {}, check::search search = {}) {
    const check::model m{"toy", "tests", how, body};
    search.bound = how.preemptions;
    search.old_values = how.old_values;
    search.seconds = 30;
    return check::explore(m, search);
}

inline void passes(void (*body)()) {
    const check::result r = run(body);
    CAPTURE(r.failure);
    CAPTURE(r.table);
    CHECK(!r.failed);
    CHECK(r.complete);
}

/// The toy must fail for this reason, and again in the same way when its replay string is run.
inline void fails_with(void (*body)(), const char* expected) {
    const check::result r = run(body);
    CAPTURE(r.failure);
    CHECK(r.failed);
    CHECK(r.failure.find(expected) != std::string::npos);
    CHECK(!r.table.empty());
    const check::model m{"toy", "tests", {}, body};
    const check::result again = check::replay(m, r.replay);
    CHECK(again.failed);
    CHECK(again.failure == r.failure);
    CHECK(again.table == r.table);
}

} // namespace toy
