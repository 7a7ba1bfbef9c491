// Load buffering: a load reads a value that is stored later, by a thread whose store follows from what the
// loading thread has done after the load. The engine does not run such executions. One can exist only if, in
// an execution that it does run, a store to a location follows, through any chain of program order and
// reads-from, from an operation after a load of that location, and neither happens-before nor any machine
// keeps the two in order. That is reported: whoever hands a slot on has to release it after the last read,
// whoever takes it over has to acquire it before the first write.
//
// A machine (and a compiler) keeps a load before a later store of its thread if the load acquires, if the
// store releases, or if a fence stands between them. C++ alone, without that, would allow more; no
// implementation does.
#include <check/engine/engine.hpp>

namespace ekiden::check {

/// The running thread has read `m`.
void engine::note_cause(const message& m, order how) noexcept {
    model_thread& t = self();
    join_stamps(t.cause, m.cause, max_threads);
    (acquires(how) ? t.kept : t.kept_by_release).join(m.kept);
}

/// The running thread writes `m`.
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

/// A fence of the running thread, of any order but relaxed.
void engine::keep_order() noexcept {
    model_thread& t = self();
    t.kept.join(t.kept_by_release);
    t.fenced = t.current.clock[running];
}

/// The running thread is about to write to `l`.
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
