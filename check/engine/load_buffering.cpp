// Load buffering means that a load reads a value that is stored later, while that store depends on what the
// loading thread did after the load. The engine does not run such executions. It reports their possibility
// instead.
//
// The condition is checked in the executions that the engine does run. A store to a location follows, through
// program order and reads-from, from an operation after another thread's load of that location. Neither
// happens-before nor any machine keeps the load before the store. To avoid the report, a thread that hands
// over a slot must release it after its last read, and the thread that takes the slot over must acquire it
// before its first write.
//
// A machine (and a compiler) keeps a load before a later store of its thread if the load acquires, if the
// store releases, or if a fence stands between them. C++ alone would allow more, but no implementation does.
#include <check/engine/engine.hpp>

namespace ekiden::check {

/// Called after the running thread has read `m`.
void engine::note_cause(const message& m, order how) noexcept {
    model_thread& t = self();
    join_stamps(t.cause, m.cause, max_threads);
    (acquires(how) ? t.kept : t.kept_by_release).join(m.kept);
}

/// Called when the running thread writes `m`.
void engine::pass_on_cause(message& m, order how) noexcept {
    model_thread& t = self();
    const stamp now_at = t.current.clock[running];
    t.cause[running] = now_at;
    std::memcpy(m.cause, t.cause, sizeof m.cause);
    m.kept = t.kept;
    if (releases(how)) m.kept.join(t.kept_by_release);
    m.kept.acquiring[running] = now_at;
    m.kept.relaxed[running] = releases(how) ? now_at : t.fenced;
}

/// Called at a fence of the running thread, of any order except relaxed.
void engine::keep_order() noexcept {
    model_thread& t = self();
    t.kept.join(t.kept_by_release);
    t.fenced = t.current.clock[running];
}

/// Called before the running thread writes to `l`. Fails the execution if another thread's load could read
/// that value.
void engine::refuse_load_buffering(const location& l, order how, const site& where) {
    const model_thread& t = self();
    for (unsigned i = 0; i < thread_count; ++i) {
        const stamp at = l.loaded[i];
        if (i == running || at == 0 || t.cause[i] < at || t.current.clock[i] >= at) continue;
        const auto keeps = [&](const effects& e) {
            return (l.acquired[i] ? e.acquiring : e.relaxed)[i] >= at;
        };
        if (keeps(t.kept) || (releases(how) && keeps(t.kept_by_release))) continue;
        fail("load buffering: nothing keeps T" + std::to_string(i)
                 + "'s load of this object before this store, which follows from what that thread did next; "
                   "the "
                   "load may read the value stored here",
             where);
    }
}

} // namespace ekiden::check
