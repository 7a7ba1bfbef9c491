// The memory model: C++20 without executions in which sequenced-before and reads-from form a cycle.
//
// Each location keeps its values in modification order. A thread may read any value that is not older than
// what it has seen. A store may follow any such value, but cannot separate a value from the read-modify-write
// that read it. A release store carries the thread's view, and an acquire load joins it. All seq_cst accesses
// and fences share one view of positions (`sequential`), in order of execution.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <bit>

namespace ekiden::check {
namespace {

std::uint64_t mask(unsigned size) noexcept {
    return size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size) - 1;
}

const char* name_of(arithmetic what) noexcept {
    static constexpr const char* names[] = {"exchange",  "fetch_add", "fetch_sub", "fetch_or",  "fetch_and",
                                            "fetch_xor", "fetch_add", "fetch_sub", "fetch_add", "fetch_sub"};
    return names[static_cast<unsigned>(what)];
}

/// Returns the sum of two floating-point numbers that are given by their bits.
template <class Number, class Bits>
std::uint64_t sum(std::uint64_t a, std::uint64_t b, bool negative) noexcept {
    const auto x = std::bit_cast<Number>(static_cast<Bits>(a));
    const auto y = std::bit_cast<Number>(static_cast<Bits>(b));
    return std::bit_cast<Bits>(negative ? x - y : x + y);
}

} // namespace

std::uint64_t compute(arithmetic what, std::uint64_t old, std::uint64_t operand) noexcept {
    switch (what) {
    case arithmetic::exchange:
        return operand;
    case arithmetic::add:
        return old + operand;
    case arithmetic::subtract:
        return old - operand;
    case arithmetic::bit_or:
        return old | operand;
    case arithmetic::bit_and:
        return old & operand;
    case arithmetic::bit_xor:
        return old ^ operand;
    case arithmetic::add_float:
    case arithmetic::subtract_float:
        return sum<float, std::uint32_t>(old, operand, what == arithmetic::subtract_float);
    case arithmetic::add_double:
    case arithmetic::subtract_double:
        return sum<double, std::uint64_t>(old, operand, what == arithmetic::subtract_double);
    }
    return 0;
}

unsigned engine::low(const location& l, bool sequential_access) const noexcept {
    const model_thread& t = threads[running];
    if (!weak) return l.count - 1U;
    unsigned lowest = t.current.seen[l.id];
    if (sequential_access && !lacks("order of seq_cst loads"))
        lowest = std::max<unsigned>(lowest, sequential.seen[l.id]);
    return lowest;
}

/// Returns whether the running thread may read this message. A sleeping thread that new messages have woken
/// may read only these messages.
bool engine::allowed(const location& l, unsigned at) const noexcept {
    const model_thread& t = threads[running];
    return !t.restricted || l.messages[at].created >= t.since;
}

void engine::read(location& l, unsigned at, order how) noexcept {
    model_thread& t = self();
    const message& m = l.messages[at];
    t.current.seen[l.id] = std::max(t.current.seen[l.id], static_cast<stamp>(at));
    if (acquires(how))
        m.carried.join_into(t.current);
    else
        m.carried.join_into(t.acquired);
    if (how == order::seq_cst)
        sequential.seen[l.id] = std::max(sequential.seen[l.id], static_cast<stamp>(at));
    l.accessed[running] = t.current.clock[running];
    note_cause(m, how);
    note_read(l.id);
}

/// Adjusts all views after an insertion: positions at `from` or later move up by one.
void engine::shift(std::uint16_t at, unsigned from) noexcept {
    const auto move = [&](stamp& s) {
        if (s >= from) ++s;
    };
    for (unsigned i = 0; i < thread_count; ++i) {
        model_thread& t = threads[i];
        move(t.current.seen[at]);
        move(t.acquired.seen[at]);
        move(t.released.seen[at]);
        move(t.lit.seen[at]);
    }
    move(locations[at]->woken);
    move(sequential.seen[at]);
    move(heavy.seen[at]);
    for (unsigned i = 0; i < location_count; ++i) {
        for (unsigned k = 0; k < locations[i]->count; ++k) {
            const carried_view& v = locations[i]->messages[k].carried;
            if (v.data != nullptr && at < v.length) move(v.seen()[at]);
        }
    }
}

void engine::carry(message& m, order how, const carried_view* also) {
    const model_thread& t = self();
    const view& base = releases(how) ? t.current : t.released;
    const bool has_base = base.clock[running] != 0; // a thread without a release fence carries nothing
    const bool has_also = also != nullptr && also->data != nullptr;
    m.carried = {};
    if (!has_base && !has_also) return;
    m.carried.length = location_count;
    m.carried.data =
        static_cast<stamp*>(records.allocate((max_threads + location_count) * sizeof(stamp), alignof(stamp)));
    if (m.carried.data == nullptr) fail_at("the execution needs too many records", "", 0);
    std::memcpy(m.carried.data, base.clock, sizeof base.clock);
    std::memcpy(m.carried.seen(), base.seen, location_count * sizeof(stamp));
    if (has_also) {
        join_stamps(m.carried.data, also->data, max_threads);
        join_stamps(m.carried.seen(), also->seen(), also->length);
    }
}

std::uint16_t engine::insert(location& l, unsigned at, std::uint64_t value, order how,
                             const message* modified, const site& where) {
    model_thread& t = self();
    if (weak && subject->how.load_buffering) refuse_load_buffering(l, how, where);
    const bool continues = modified != nullptr && !lacks("release sequences");
    const carried_view also = continues ? modified->carried : carried_view{};
    if (l.count == l.capacity) {
        const unsigned capacity = l.capacity * 2U;
        auto* more = static_cast<message*>(records.allocate(capacity * sizeof(message), alignof(message)));
        if (more == nullptr || capacity > 0x8000) fail_at("the execution needs too many records", "", 0);
        std::memcpy(static_cast<void*>(more), l.messages, l.count * sizeof(message));
        l.messages = more;
        l.capacity = static_cast<std::uint16_t>(capacity);
    }
    if (at < l.count) {
        std::memmove(static_cast<void*>(l.messages + at + 1), l.messages + at,
                     (l.count - at) * sizeof(message));
        l.messages[at].carried = {}; // set below; shift() must not adjust it twice
        ++l.count;
        shift(l.id, at);
    } else {
        ++l.count;
    }
    t.current.seen[l.id] = static_cast<stamp>(at);
    message& m = l.messages[at];
    m.value = value;
    m.event = static_cast<std::uint32_t>(events.size() - 1); // recorded just before, if a trace is recorded
    m.created = static_cast<std::uint16_t>(l.count - 1);
    m.thread = static_cast<std::uint8_t>(running);
    m.modifies = modified != nullptr;
    pass_on_cause(m, how);
    carry(m, how, continues ? &also : nullptr);
    if (how == order::seq_cst)
        sequential.seen[l.id] = std::max(sequential.seen[l.id], static_cast<stamp>(at));
    l.accessed[running] = t.current.clock[running];
    l.loaded[running] = 0; // by coherence, an earlier load of this thread cannot read this or later messages
    ++t.current.clock[running];
    if (at == 0 || l.messages[at - 1].value != value) progressed(l);
    return static_cast<std::uint16_t>(at);
}

/// Collects the positions that may be read (newest first), or that a store may follow.
void engine::gather(const location& l, bool modify, bool sequential_access) {
    candidates_.clear();
    const unsigned lowest = low(l, sequential_access);
    for (unsigned at = l.count; at-- > lowest;) {
        if (modify && at + 1 < l.count && (l.messages[at + 1].modifies || lacks("modification order")))
            continue;
        candidates_.push_back({static_cast<std::uint16_t>(at), true});
    }
}

/// Chooses one of the candidates, within the bound of old values. Candidates from `spurious_from` on do not
/// count as old values.
engine::candidate engine::pick(const location& l, std::size_t spurious_from) {
    const auto is_old = [&](candidate c) { return c.position + 1U != l.count; };
    if (old_values >= old_bound) {
        const std::size_t before = candidates_.size();
        std::erase_if(candidates_, is_old); // a spurious failure reads the newest value
        const std::size_t removed = before - candidates_.size();
        spurious_from -= removed;
        limited_here = limited_here || removed != 0;
    }
    if (candidates_.empty()) abandon();
    const unsigned picked = choose(static_cast<unsigned>(candidates_.size()));
    if (is_old(candidates_[picked])) ++old_values;
    if (picked >= spurious_from) ++weak_failures;
    return candidates_[picked];
}

std::uint64_t engine::load(location& l, order how, const site& where) {
    const bool sequential_access = how == order::seq_cst;
    const operation op{kind::load, sequential_access, l.id, nullptr};
    note_load(self(), where.line());
    point(op, where);
    gather(l, false, sequential_access);
    if (self().restricted) std::erase_if(candidates_, [&](candidate c) { return !allowed(l, c.position); });
    const unsigned lowest = low(l, sequential_access);
    const unsigned at = self().repeat != 0 ? lowest : pick(l, candidates_.size()).position;
    const std::uint64_t value = l.messages[at].value;
    if (tracing)
        record(text::operation("load", name_of(l), how), text::value(value, l.size),
               why_visible(l, at, lowest), where);
    read(l, at, how);
    l.loaded[running] = self().current.clock[running];
    l.acquired[running] = acquires(how);
    done(op);
    return value;
}

void engine::store(location& l, std::uint64_t value, order how, const site& where) {
    const bool sequential_access = how == order::seq_cst;
    const operation op{kind::store, sequential_access, l.id, nullptr};
    point(op, where);
    gather(l, true, sequential_access);
    const unsigned after = pick(l, candidates_.size()).position;
    if (tracing) {
        record(text::operation("store", name_of(l), how), text::value(value, l.size),
               after + 1U < l.count ? "goes before a newer value in modification order" : "", where);
    }
    insert(l, after + 1, value, how, nullptr, where);
    done(op);
}

std::uint64_t engine::modify(location& l, arithmetic what, std::uint64_t operand, order how,
                             const site& where) {
    const bool sequential_access = how == order::seq_cst;
    const operation op{kind::modify, sequential_access, l.id, nullptr};
    point(op, where);
    gather(l, true, sequential_access);
    if (self().restricted) std::erase_if(candidates_, [&](candidate c) { return !allowed(l, c.position); });
    const unsigned at = pick(l, candidates_.size()).position;
    const std::uint64_t old = l.messages[at].value;
    const std::uint64_t next = compute(what, old, operand) & mask(l.size);
    if (tracing) {
        record(text::operation(check::name_of(what), name_of(l), how),
               text::value(old, l.size) + " -> " + text::value(next, l.size),
               why_visible(l, at, low(l, sequential_access)), where);
    }
    read(l, at, how);
    insert(l, at + 1, next, how, &l.messages[at], where);
    done(op);
    return old;
}

bool engine::compare_exchange(location& l, std::uint64_t& expected, std::uint64_t desired, order success,
                              order failure, bool weak_form, const site& where) {
    const operation op{kind::modify, success == order::seq_cst || failure == order::seq_cst, l.id, nullptr};
    point(op, where);
    candidates_.clear();
    const unsigned low_success = low(l, success == order::seq_cst);
    const unsigned low_failure = low(l, failure == order::seq_cst);
    const bool may_fail_anyhow = weak_form && weak_failures < subject->how.weak_failures;
    for (unsigned at = l.count; at-- > std::min(low_success, low_failure);) {
        if (!allowed(l, at)) continue;
        const auto where_at = static_cast<std::uint16_t>(at);
        if (l.messages[at].value == expected) {
            const bool followed = at + 1 < l.count && l.messages[at + 1].modifies;
            if (at >= low_success && !followed) candidates_.push_back({where_at, true});
        } else if (at >= low_failure) {
            candidates_.push_back({where_at, false});
        }
    }
    const std::size_t spurious_from = candidates_.size();
    if (may_fail_anyhow && l.messages[l.count - 1].value == expected && allowed(l, l.count - 1U))
        candidates_.push_back({static_cast<std::uint16_t>(l.count - 1), false});
    const unsigned failures_before = weak_failures;
    const auto [at, succeeds] = pick(l, spurious_from);
    const bool without_cause = weak_failures != failures_before;
    const std::uint64_t old = l.messages[at].value;
    if (tracing) {
        std::string change = text::value(old, l.size);
        change += succeeds ? " -> " + text::value(desired, l.size)
                           : " (wanted " + text::value(expected, l.size) + ")";
        record(text::operation(succeeds ? "cas" : "cas failed", name_of(l), succeeds ? success : failure),
               change, without_cause ? "spurious failure" : why_visible(l, at, low_failure), where);
    }
    read(l, at, succeeds ? success : failure);
    if (succeeds) {
        insert(l, at + 1U, desired, success, &l.messages[at], where);
    } else {
        l.loaded[running] = self().current.clock[running];
        l.acquired[running] = acquires(failure);
        expected = old;
    }
    done(op);
    return succeeds;
}

void engine::fence(order how, const site& where) {
    if (how == order::relaxed) return;
    const operation op{kind::fence, true, no_location, nullptr};
    if (how == order::seq_cst) point(op, where);
    model_thread& t = self();
    if (tracing) record(text::operation("fence", "", how), "", "", where);
    keep_order();
    if (acquires(how) && !lacks("acquire fences")) t.current.join(t.acquired, location_count);
    if (how == order::seq_cst && !lacks("order of fences")) {
        t.current.join_seen(sequential, location_count);
        sequential.join_seen(t.current, location_count);
    }
    if (releases(how)) {
        t.released.copy(t.current, location_count);
        ++t.current.clock[running];
    }
    if (how == order::seq_cst) done(op);
}

// A light and a heavy fence order like two seq_cst fences (P1202R5). The heavy fence adds what each thread
// had seen at its last light fence to the order. It also passes on what its own thread has seen to each
// thread's next light fence.
void engine::light_fence(const site& where) {
    const operation op{kind::light, false, no_location, nullptr};
    point(op, where);
    if (tracing) record("light fence", "", "", where);
    model_thread& t = self();
    t.current.join_seen(heavy, location_count);
    t.lit.copy(t.current, location_count);
    done(op);
}

void engine::heavy_fence(const site& where) {
    const operation op{kind::heavy, true, no_location, nullptr};
    point(op, where);
    if (tracing) record("heavy fence", "", "", where);
    for (unsigned i = 0; i < thread_count; ++i) sequential.join_seen(threads[i].lit, location_count);
    keep_order();
    model_thread& t = self();
    t.current.join(t.acquired, location_count);
    t.current.join_seen(sequential, location_count);
    sequential.join_seen(t.current, location_count);
    heavy.join_seen(t.current, location_count);
    t.released.copy(t.current, location_count);
    ++t.current.clock[running];
    done(op);
}

} // namespace ekiden::check
