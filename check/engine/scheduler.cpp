// Decides which thread is next. The thread changes only before an operation that another thread could
// influence.
//
// Reduction by sleep sets: if another thread is chosen although the running thread could continue, the
// running thread falls asleep. The executions in which its operation comes first have been explored already.
// It wakes when an operation is executed that does not commute with its own. A load or read-modify-write also
// wakes when its location has a new message. It then reads only new messages, because with an old one it
// would still commute.
//
// A plain store commutes with everything except futex waits, because its place in modification order is a
// separate choice. So no other thread needs to be tried before it. Only the running thread falls asleep.
// Moving its operation forward never adds a preemption, so the reduction loses nothing at any bound. If old
// values are bounded as well, stores are ordered like everything else.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace ekiden::check {
namespace {

constexpr std::uint64_t spin_ns = 1'000'000; // virtual time of one spin hint
constexpr unsigned idle_limit = 2000;        // number of spins without any progress that counts as a livelock
constexpr unsigned patience = 8;             // rounds of a loop before be_fair() handles it
constexpr unsigned give_up = 300;            // rounds of a loop while all other threads loop, too
constexpr unsigned most_lonely = 3;          // spins while all other threads are asleep: see give_way()

/// Returns whether the order of `mine` and `theirs` matters. eligible() handles the case that `mine` reads
/// what `theirs` wrote.
bool conflicts(const operation& mine, const operation& theirs, bool counts_old_values) noexcept {
    if (mine.what == kind::none || theirs.what == kind::none) return false;
    for (const kind all : {kind::heavy, kind::look}) {
        if (mine.what == all || theirs.what == all) return true;
    }
    if (mine.what == kind::light || theirs.what == kind::light) return false;
    if (mine.what == kind::wake || theirs.what == kind::wake)
        return mine.address != nullptr && mine.address == theirs.address;
    if (mine.what == kind::wait || theirs.what == kind::wait) {
        const auto writes = [](const operation& op) {
            return op.what == kind::store || op.what == kind::modify;
        };
        return mine.at == theirs.at && (writes(mine) || writes(theirs));
    }
    // The order of a store and another access decides which value counts as old and which place counts as
    // last.
    if (counts_old_values && mine.at == theirs.at && (mine.what == kind::store || mine.what == kind::modify))
        return true;
    if (!mine.sequential || !theirs.sequential) return false;
    if (mine.what == kind::fence || theirs.what == kind::fence) return true;
    return mine.at == theirs.at;
}

} // namespace

bool engine::eligible(unsigned thread) const noexcept {
    const model_thread& t = threads[thread];
    if (t.state != status::runnable || t.spinning) return false;
    if (!t.asleep) return true;
    return (t.pending.what == kind::load || t.pending.what == kind::modify)
           && locations[t.pending.at]->count > t.since;
}

/// Returns whether to try other threads before this operation. A store whose size is not that of a futex word
/// commutes with all operations of other threads.
bool engine::preemptible(const operation& next) const noexcept {
    if (!reducing || old_bound != unbounded || next.what != kind::store || next.sequential) return true;
    return locations[next.at]->size == sizeof(std::uint32_t);
}

void engine::turn_to(unsigned thread) {
    model_thread& from = self();
    model_thread& to = threads[thread];
    if (to.asleep) {
        to.asleep = false;
        to.restricted = true;
    }
    if (thread == running) return;
    lonely = 0;
    running = thread;
    switch_context(from.where, to.where);
}

/// Chooses one of `turns_`: by the search, or the thread with the highest priority (PCT, Burckhardt et al.
/// 2010).
unsigned engine::pick_turn() {
    if (!randomly) return turns_[choose(static_cast<unsigned>(turns_.size()))];
    if (turns_.size() == 1) return turns_[0];
    const auto best = std::max_element(turns_.begin(), turns_.end(), [&](unsigned a, unsigned b) {
        return threads[a].priority < threads[b].priority;
    });
    path.push_back({static_cast<unsigned>(turns_.size()), static_cast<unsigned>(best - turns_.begin())});
    ++position;
    return *best;
}

/// Called when the thread runs again before its operation. Its object may have been destroyed meanwhile.
void engine::turn_back(const operation& next, const site& where) {
    if (next.at == no_location) return;
    const location& l = *locations[next.at];
    if (l.dead) fail("access to an atomic object after its destruction", where);
    if (heap.contains(l.address) && heap.freed(l.address))
        fail("use after free: the memory of this atomic object has been freed", where);
}

void engine::point(const operation& next, const site& where) {
    model_thread& t = self();
    t.last_site = where;
    t.pending = next;
    ++t.operations;
    if (++steps > subject->how.max_steps)
        fail("livelock: more than " + std::to_string(subject->how.max_steps) + " operations", where);
    if (next.what != kind::load) t.repeat = 0;
    if (thread_count == 1 || t.repeat != 0 || !preemptible(next)) return;
    if (preemptions >= bound) {
        for (unsigned i = 0; i < thread_count && !limited_here; ++i)
            limited_here = i != running && eligible(i);
        return;
    }
    turns_.clear();
    turns_.push_back(running);
    for (unsigned i = 0; i < thread_count; ++i) {
        if (i != running && eligible(i)) turns_.push_back(i);
    }
    if (turns_.size() == 1) return;
    if (randomly && std::find(change_points.begin(), change_points.end(), steps) != change_points.end())
        t.priority = -static_cast<int>(steps);
    const unsigned turn = pick_turn();
    if (turn == running) return;
    ++preemptions;
    if (reducing) {
        t.asleep = true;
        t.since = next.at == no_location ? 0 : locations[next.at]->count;
    }
    turn_to(turn);
    turn_back(next, where);
}

/// Called after the running thread has executed `op`. Wakes the sleeping threads whose next operation it
/// affects.
void engine::done(const operation& op) noexcept {
    self().restricted = false;
    if (!reducing) return;
    for (unsigned i = 0; i < thread_count; ++i) {
        if (threads[i].asleep && conflicts(threads[i].pending, op, old_bound != unbounded)
            && !lacks("conflicts of the reduction"))
            threads[i].asleep = false;
    }
}

/// The running thread cannot or need not continue. Chooses any other thread.
void engine::leave() {
    for (;;) {
        turns_.clear();
        bool asleep = false;
        bool unfinished = false;
        for (unsigned i = 0; i < thread_count; ++i) {
            const model_thread& t = threads[i];
            if (eligible(i)) turns_.push_back(i);
            asleep = asleep || (t.asleep && t.state == status::runnable);
            unfinished = unfinished || t.state != status::finished;
        }
        if (!turns_.empty()) break;
        if (asleep) abandon();
        if (!unfinished) switch_context(self().where, outside);
        if (!release_stuck()) stuck();
    }
    turn_to(pick_turn());
}

/// No thread can continue, so time passes. Returns false if that changes nothing.
bool engine::release_stuck() {
    const auto release_spinners = [&] {
        bool any = false;
        for (unsigned i = 0; i < thread_count; ++i) {
            any = any || threads[i].spinning;
            threads[i].spinning = false;
        }
        if (any) {
            ++idle;
            now += spin_ns;
        }
        return any;
    };
    if (idle % 16 != 15 && idle < idle_limit && release_spinners()) return true;
    model_thread* first = nullptr;
    for (unsigned i = 0; i < thread_count; ++i) {
        model_thread& t = threads[i];
        if (t.state == status::waiting && t.deadline != never
            && (first == nullptr || t.deadline < first->deadline))
            first = &t;
    }
    if (first == nullptr) return idle < idle_limit && release_spinners();
    now = std::max(now, first->deadline);
    first->state = status::runnable;
    first->result = wait_result::timed_out;
    ++idle;
    return idle < idle_limit;
}

void engine::stuck() {
    const bool spins =
        std::any_of(threads.begin(), threads.begin() + thread_count,
                    [](const model_thread& t) { return t.spinning || t.state == status::runnable; });
    fail((spins ? "livelock: nothing changes any more" : "deadlock or lost wake-up") + whereabouts(),
         self().last_site);
}

/// Describes what each unfinished thread does, one per line.
std::string engine::whereabouts() const {
    std::string who;
    for (unsigned i = 0; i < thread_count; ++i) {
        const model_thread& t = threads[i];
        if (t.state == status::finished) continue;
        const std::string at =
            text::short_path(t.last_site.file_name()) + ":" + std::to_string(t.last_site.line());
        who += "\n  T" + std::to_string(i);
        if (t.state == status::joining)
            who += " joins T" + std::to_string(t.join_target);
        else
            who += (t.state == status::waiting ? " sleeps, "
                    : t.spinning               ? " spins, "
                                               : " can run, last seen at ")
                   + at;
    }
    return who;
}

void engine::progressed(location& l) noexcept {
    self().changed = true;
    idle = 0;
    for (unsigned i = 0; i < thread_count; ++i) {
        model_thread& t = threads[i];
        if (t.spinning && std::find(t.reads.begin(), t.reads.end(), l.id) != t.reads.end())
            t.spinning = false;
    }
}

void engine::note_read(std::uint16_t at) {
    constexpr std::size_t enough = 32; // more locations than a spin loop reads
    std::vector<std::uint16_t>& reads = self().reads;
    if (std::find(reads.begin(), reads.end(), at) != reads.end()) return;
    if (reads.size() == enough) reads.clear();
    reads.push_back(at);
}

/// If a spinning thread would read the same values again, it would only repeat itself. So one of the
/// locations that it reads must advance. Which one is a choice. Returns false if no location has a newer
/// value.
bool engine::advance_spinner(model_thread& t) {
    std::vector<std::pair<std::uint16_t, stamp>> fresh;
    for (const std::uint16_t at : t.reads) {
        const location& l = *locations[at];
        const unsigned seen = t.current.seen[at];
        for (unsigned next = seen + 1; next < l.count; ++next) {
            if (l.messages[next].value == l.messages[seen].value) continue;
            fresh.emplace_back(at, static_cast<stamp>(next));
            break;
        }
    }
    if (fresh.empty()) return false;
    const auto [at, position_seen] = fresh[choose(static_cast<unsigned>(fresh.size()))];
    t.current.seen[at] = std::max(t.current.seen[at], position_seen);
    return true;
}

/// A loop of spin hints may give up. The thread then repeats its reads undisturbed until it does something
/// else than read. A loop that never gives up would repeat them forever.
bool engine::run_out(model_thread& t, bool may_be_bounded) {
    constexpr std::uint16_t most_repeats = 100;
    if (t.repeat == 1) abandon();
    if (t.repeat != 0) {
        --t.repeat;
        return true;
    }
    if (!may_be_bounded || choose(2) == 0) return false;
    t.repeat = most_repeats;
    return true;
}

/// A load outside the body of the loop ends the repetition, because the loop has ended.
void engine::note_load(model_thread& t, unsigned line) noexcept {
    if (t.repeat != 0) {
        const auto last = t.loaded_lines.begin() + std::min<std::size_t>(t.loads, t.loaded_lines.size());
        if (std::find(t.loaded_lines.begin(), last, line) == last) t.repeat = 0;
    } else {
        t.loaded_lines[t.loads++ % t.loaded_lines.size()] = line;
    }
}

/// Lets any other thread that can continue run now. This does not count as a preemption.
void engine::give_way(model_thread& t) {
    t.spinning = true;
    turns_.clear();
    for (unsigned i = 0; i < thread_count; ++i) {
        if (eligible(i)) turns_.push_back(i);
    }
    t.spinning = false;
    if (!turns_.empty()) return turn_to(pick_turn());
    // Only sleeping threads could make the change that this thread waits for. The executions in which they do
    // were explored earlier.
    const bool asleep =
        std::any_of(threads.begin(), threads.begin() + thread_count,
                    [](const model_thread& o) { return o.asleep && o.state == status::runnable; });
    if (asleep && ++lonely > most_lonely) abandon();
}

/// Returns whether the thread keeps yielding in a loop.
bool engine::loops(const model_thread& t) const noexcept {
    constexpr unsigned recent = 40; // number of operations, more than one round of such a loop has
    return t.yields > patience && t.operations - t.yielded_at < recent;
}

/// A loop that writes seems to make progress, even if it runs forever. Schedules are unfair if such a loop
/// keeps another thread from running that could end it. They are not explored.
void engine::be_fair(model_thread& t, const site& where) {
    (void)advance_spinner(t); // the thread sees the writes of others eventually
    t.reads.clear();
    turns_.clear();
    bool asleep = false;
    for (unsigned i = 0; i < thread_count; ++i) {
        if (i == running || threads[i].state != status::runnable || loops(threads[i])) continue;
        if (eligible(i)) turns_.push_back(i);
        asleep = asleep || threads[i].asleep;
    }
    if (!turns_.empty()) return turn_to(pick_turn());
    if (asleep) abandon();
    if (t.yields > give_up) fail("livelock: " + std::to_string(give_up) + " rounds of a loop", where);
    give_way(t);
}

/// A spin hint yields without counting as a preemption. The second hint at the same place without progress
/// means that the thread waits. It does not run again until something that it reads has changed.
void engine::spin(bool may_be_bounded, const site& where) {
    model_thread& t = self();
    t.last_site = where;
    t.pending = {};
    if (++steps > subject->how.max_steps)
        fail("livelock: more than " + std::to_string(subject->how.max_steps) + " operations", where);
    if (clock_used) {
        now += spin_ns;
        for (unsigned i = 0; i < thread_count; ++i) threads[i].asleep = false;
    }
    if (t.spin_line != where.line()) t.repeat = t.yields = 0;
    ++t.yields;
    t.yielded_at = t.operations;
    const bool again = !std::exchange(t.changed, false) && t.spin_line == where.line() && !t.reads.empty();
    t.spin_line = where.line();
    if (randomly) t.priority = -static_cast<int>(steps);
    if (t.repeat == 0 && loops(t)) return be_fair(t, where);
    if (t.repeat != 0 || !again) {
        if (!run_out(t, may_be_bounded)) {
            t.loads = 0;
            give_way(t);
        }
        t.reads.clear();
        return;
    }
    while (!advance_spinner(t)) {
        const unsigned before = idle;
        t.spinning = true;
        leave();
        if (idle > before) break; // no thread could continue
        if (run_out(t, may_be_bounded)) return t.reads.clear();
    }
    t.loads = 0;
    t.reads.clear();
}

} // namespace ekiden::check
