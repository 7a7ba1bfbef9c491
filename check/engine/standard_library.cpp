// Orders that the compiler and the standard library create without the checker's atomics: the initialization
// of local statics, and the reference counts of std::shared_ptr. call_once and local statics each have a
// guard here.
#include <check/engine/standard_library.hpp>

#include <check/engine/engine.hpp>

#include <cxxabi.h>

namespace ekiden::check {
namespace {

// The bits of the engine's word for a guard. busy: a thread runs the initialization. made: it is complete.
constexpr std::uint64_t busy = 1;
constexpr std::uint64_t made = 2;

} // namespace

/// In a model, the flag that the compiled code reads stays zero. So each execution of the declaration calls
/// this function.
bool engine::begin_once(location& guard) {
    const site& where = self().last_site;
    for (;;) {
        const unsigned newest = guard.count - 1U;
        if ((guard.messages[newest].value & made) != 0) {
            read(guard, newest, order::acquire);
            return false;
        }
        const std::uint64_t before = modify(guard, arithmetic::bit_or, busy, order::acquire, where);
        if (before == 0) return true;
        wait_while(guard, busy, "the call by another thread of", where);
    }
}

void engine::end_once(location& guard, bool is_made) {
    const site& where = self().last_site;
    (void)modify(guard, arithmetic::exchange, is_made ? made : 0, order::release, where);
    (void)wake(guard.address, ~0U, where, "called once");
}

/// Orders like a read-modify-write, but changes nothing. The library itself decrements the count.
void engine::count_released(const void* at) {
    const site& where = self().last_site;
    if (const object* const o = find(at); o == nullptr || o->dead) remember(at, true).creator = nobody;
    (void)modify(locate(at, sizeof(int), where), arithmetic::add, 0, order::release, where);
}

void engine::count_is_zero(const void* at) noexcept {
    const object* const o = find(at);
    if (o == nullptr || o->record == nullptr) return;
    location& l = *static_cast<location*>(o->record);
    read(l, l.count - 1U, order::acquire);
}

bool once_begins(void* flag) noexcept {
    if (!running()) return false;
    const inside in;
    return in.e.begin_once(in.e.locate(flag, sizeof(std::uint32_t), in.e.self().last_site));
}

void once_ends(void* flag, bool is_done) noexcept {
    if (!running()) return;
    const inside in;
    in.e.end_once(in.e.locate(flag, sizeof(std::uint32_t), in.e.self().last_site), is_done);
}

void count_released(const volatile void* at) noexcept {
    if (!running()) return;
    const inside in;
    in.e.count_released(const_cast<const void*>(at));
}

void count_is_zero(const volatile void* at) noexcept {
    if (!running()) return;
    const inside in;
    in.e.count_is_zero(const_cast<const void*>(at));
}

namespace {

/// Returns whether the engine keeps the state of a guard. A guard in a library that was loaded at run time
/// outlives the execution, so it keeps its own state.
bool keeps(const void* guard) { return running() && the_engine().in_statics(guard); }

location& guard_at(engine& e, const void* at) {
    return e.locate(at, sizeof(std::uint32_t), e.self().last_site);
}

/// The bytes of a guard: whether the object is initialized, and whether a thread is initializing it.
struct guard_bytes {
    char is_made;
    char is_busy;
};

void end(__cxxabiv1::__guard* guard, bool is_made) noexcept {
    if (!keeps(guard)) {
        *reinterpret_cast<guard_bytes*>(guard) = {static_cast<char>(is_made), 0};
        return;
    }
    const inside in;
    in.e.end_once(guard_at(in.e, guard), is_made);
}

} // namespace
} // namespace ekiden::check

// Replacements for the C++ runtime's functions that compilers call around the initialization of a local
// static (Itanium C++ ABI, 3.3.3).
namespace __cxxabiv1 {

extern "C" int __cxa_guard_acquire(__guard* guard) {
    using namespace ekiden::check;
    auto& bytes = *reinterpret_cast<guard_bytes*>(guard);
    if (bytes.is_made != 0) return 0;
    if (keeps(guard)) {
        const inside in;
        return in.e.begin_once(guard_at(in.e, guard)) ? 1 : 0;
    }
    if (bytes.is_busy != 0) fail("a local static is initialized within its own initialization");
    bytes.is_busy = 1;
    return 1;
}

extern "C" void __cxa_guard_release(__guard* guard) noexcept { ekiden::check::end(guard, true); }
extern "C" void __cxa_guard_abort(__guard* guard) noexcept { ekiden::check::end(guard, false); }

} // namespace __cxxabiv1
