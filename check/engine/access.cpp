// The entry points for instrumented code. Outside an execution they act on plain memory, inside they call the
// engine.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <cstring>

namespace ekiden::check {
namespace {

std::uint64_t peek(const void* at, unsigned size) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, at, size);
    return value;
}

} // namespace

bool running() noexcept { return the_engine().active; }

void born(const void* at, bool is_atomic) noexcept {
    if (!running()) return;
    const inside in;
    in.e.remember(at, is_atomic);
}

void died(const void* at, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    in.e.ended(at, where);
}

std::uint64_t load(const void* at, unsigned size, order how, const site& where) noexcept {
    if (!running()) return peek(at, size);
    const inside in;
    if (in.e.watching()) how = in.e.mutated(how, where, "load");
    return in.e.load(in.e.locate(at, size, where), how, where);
}

void store(void* at, unsigned size, std::uint64_t value, order how, const site& where) noexcept {
    if (!running()) {
        std::memcpy(at, &value, size);
        return;
    }
    const inside in;
    if (in.e.watching()) how = in.e.mutated(how, where, "store");
    in.e.store(in.e.locate(at, size, where), value, how, where);
}

std::uint64_t modify(void* at, unsigned size, arithmetic what, std::uint64_t operand, order how,
                     const site& where) noexcept {
    if (!running()) {
        const std::uint64_t old = peek(at, size);
        const std::uint64_t next = compute(what, old, operand);
        std::memcpy(at, &next, size);
        return old;
    }
    const inside in;
    if (in.e.watching()) how = in.e.mutated(how, where, "modify");
    return in.e.modify(in.e.locate(at, size, where), what, operand, how, where);
}

bool compare_exchange(void* at, unsigned size, std::uint64_t& expected, std::uint64_t desired, order success,
                      order failure, bool weak, const site& where) noexcept {
    if (!running()) {
        const std::uint64_t old = peek(at, size);
        const bool equal = old == expected;
        if (equal)
            std::memcpy(at, &desired, size);
        else
            expected = old;
        return equal;
    }
    const inside in;
    if (in.e.watching()) {
        success = in.e.mutated(success, where, "compare_exchange");
        failure = in.e.mutated(failure, where, "compare_exchange", true);
    }
    return in.e.compare_exchange(in.e.locate(at, size, where), expected, desired, success, failure, weak,
                                 where);
}

void cell_read(const void* at, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    engine& e = in.e;
    plain& p = e.cell(at, where);
    if (e.tracing) e.record("read cell", "", "", where);
    e.race(p, false, where);
    p.read[e.running] = e.self().current.clock[e.running];
}

void cell_write(const void* at, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    engine& e = in.e;
    plain& p = e.cell(at, where);
    if (e.tracing) e.record("write cell", "", "", where);
    e.race(p, true, where);
    p.writer = static_cast<std::uint8_t>(e.running);
    p.written = e.self().current.clock[e.running];
}

void thread_fence(order how, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    if (in.e.watching()) how = in.e.mutated(how, where, "fence");
    in.e.fence(how, where);
}

void light_fence(const site& where) noexcept {
    if (!running()) return;
    const inside in;
    if (in.e.watching() && in.e.mutated(order::seq_cst, where, "light fence") == order::relaxed) return;
    in.e.light_fence(where);
}

void heavy_fence(const site& where) noexcept {
    if (!running()) return;
    const inside in;
    if (in.e.watching() && in.e.mutated(order::seq_cst, where, "heavy fence") == order::relaxed) return;
    in.e.heavy_fence(where);
}

wait_result wait_on(const void* at, unsigned size, std::uint64_t expected, std::uint64_t deadline,
                    const site& where) noexcept {
    if (!running()) return wait_result::unequal;
    const inside in;
    return in.e.wait_on(in.e.locate(at, size, where), expected, deadline, where);
}

int wake(const void* at, unsigned count, const site& where, std::string_view called) noexcept {
    if (!running()) return 0;
    const inside in;
    return in.e.wake(at, count, where, called);
}

void lock(void* mutex, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    in.e.lock(in.e.locate(mutex, sizeof(std::uint32_t), where), where);
}

bool try_lock(void* mutex, const site& where) noexcept {
    if (!running()) return true;
    const inside in;
    std::uint64_t expected = 0;
    return in.e.compare_exchange(in.e.locate(mutex, sizeof(std::uint32_t), where), expected, 1,
                                 order::acquire, order::relaxed, true, where);
}

void unlock(void* mutex, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    in.e.unlock(in.e.locate(mutex, sizeof(std::uint32_t), where), where);
}

wait_result wait_unlocked(const void* condition, void* mutex, std::uint64_t deadline,
                          const site& where) noexcept {
    if (!running()) return wait_result::unequal;
    const inside in;
    return in.e.wait_unlocked(condition, in.e.locate(mutex, sizeof(std::uint32_t), where), deadline, where);
}

unsigned start_thread(void (*run)(void*), void* argument, const site& where) {
    if (!running()) throw std::logic_error("a model starts threads only while it runs");
    const inside in;
    return in.e.start(run, argument, where);
}

void join_thread(unsigned number, const site& where) {
    if (!running()) return;
    const inside in;
    in.e.join(number, where);
}

unsigned current_thread() noexcept { return the_engine().running; }

void spin(bool may_be_bounded, const site& where) noexcept {
    if (!running()) return;
    const inside in;
    in.e.spin(may_be_bounded, where);
}

std::uint64_t time_ns() noexcept {
    engine& e = the_engine();
    if (!e.active) return 0;
    e.clock_used = true;
    return e.now;
}

void* thread_local_object(const void* key, std::size_t size, std::size_t alignment,
                          void (*make)(void*)) noexcept {
    engine& e = the_engine();
    if (!e.active) fail("thread-local data outside an execution");
    for (const auto& [known, at] : e.self().locals) {
        if (known == key) return at;
    }
    void* at = nullptr;
    {
        const inside in;
        at = e.records.allocate(size, alignment);
        if (at == nullptr) e.fail_at("the execution needs too many records", "", 0);
        e.self().locals.emplace_back(key, at);
    }
    make(at);
    return at;
}

bool mutant_active(const char* name) noexcept {
    engine& e = the_engine();
    if (!e.active) return false;
    if (e.discovering) {
        const inside in;
        e.found.logic.insert(name);
    }
    return e.mutant && e.mutant->name == name;
}

void that(bool held, std::string_view what, std::source_location where) {
    if (!held) fail(what, where);
}

void fail(std::string_view what, std::source_location where) {
    engine& e = the_engine();
    e.active = false;
    e.fail(what, where);
}

unsigned choose(unsigned count) {
    if (count == 0) fail("choose(0): there is no number below 0");
    const inside in;
    return in.e.choose(count);
}

void outcome(std::initializer_list<std::int64_t> values) {
    const inside in;
    std::string text;
    for (const std::int64_t value : values) {
        if (!text.empty()) text += ' ';
        text += std::to_string(value);
    }
    in.e.found.outcomes.insert(std::move(text));
}

} // namespace ekiden::check
