// One execution of a model, and its surroundings: restores static storage, drops memory, and handles operator
// new and fatal signals.
#include <check/engine/engine.hpp>
#include <check/engine/explorer.hpp>
#include <check/engine/text.hpp>

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

// Symbols of the linker: the bounds of the initialized and the zeroed data of this program.
extern "C" char __data_start[]; // NOLINT(bugprone-reserved-identifier)
extern "C" char _edata[];       // NOLINT(bugprone-reserved-identifier)
extern "C" char __bss_start[];  // NOLINT(bugprone-reserved-identifier)
extern "C" char _end[];         // NOLINT(bugprone-reserved-identifier)

// Functions of the sanitizers' runtimes. They exist only if a sanitizer is linked.
extern "C" __attribute__((weak)) void __asan_init(); // NOLINT(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __tsan_init(); // NOLINT(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __msan_init(); // NOLINT(bugprone-reserved-identifier)

namespace ekiden::check {
namespace {

constexpr std::size_t record_bytes = 64U << 20;
constexpr std::size_t heap_bytes = 256U << 20;
// Well after the epoch, so that deadlines in the past stay positive.
constexpr std::uint64_t first_time_ns = 1'000'000'000;

std::size_t data_size() noexcept { return static_cast<std::size_t>(_edata - __data_start); }
std::size_t bss_size() noexcept { return static_cast<std::size_t>(_end - __bss_start); }

void on_signal(int number) {
    engine& e = the_engine();
    const char* what = number == SIGABRT   ? "abort() was called (a failed assertion?)"
                       : number == SIGSEGV ? "segmentation fault (freed memory is filled with 0xDD)"
                                           : "fatal signal";
    if (e.thread_count == 0) { // no model is running
        std::signal(number, SIG_DFL);
        std::raise(number);
        return;
    }
    e.active = false;
    e.fail(what, e.self().last_site);
}

[[noreturn]] void on_terminate() {
    engine& e = the_engine();
    if (e.thread_count == 0) std::abort();
    e.active = false;
    std::string what = "std::terminate was called";
    try {
        if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
    } catch (const std::exception& error) {
        what += ": uncaught exception: " + std::string(error.what());
    } catch (...) {
        what += ": uncaught exception";
    }
    e.fail(what, e.self().last_site);
}

/// Handles signals on a separate stack, so that a stack overflow of a fiber is reported, too.
void catch_signals() {
    constexpr std::size_t size = 128 * 1024;
    stack_t alternative{};
    alternative.ss_sp = std::malloc(size);
    alternative.ss_size = size;
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER | SA_ONSTACK;
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(number, &action, nullptr);
}

} // namespace

engine* instance = nullptr;

engine& make_engine() {
    instance = new engine;
    return *instance;
}

/// A copy of the static storage, made before the first execution of a model.
struct engine::static_copy {
    std::vector<char> data{__data_start, _edata};
    std::vector<char> bss{__bss_start, _end};
};

engine::engine() : records(record_bytes), heap(heap_bytes), table_(table_size) {
    catch_signals();
    std::set_terminate(on_terminate);
}

void require_own_statics() {
    if (&__asan_init != nullptr || &__tsan_init != nullptr || &__msan_init != nullptr) {
        throw std::runtime_error(
            "models do not run under a sanitizer: the checker puts static storage back before each "
            "execution, and the sanitizer's with it. Build this program without -fsanitize; the "
            "checker finds late accesses and races itself");
    }
    const auto has_loader = [](dl_phdr_info* info, std::size_t, void*) {
        const auto* const end = info->dlpi_phdr + info->dlpi_phnum; // the first entry is the program itself
        return std::any_of(info->dlpi_phdr, end, [](const auto& part) { return part.p_type == PT_INTERP; })
                   ? 1
                   : -1;
    };
    if (::dl_iterate_phdr(has_loader, nullptr) != 1) {
        throw std::runtime_error(
            "models do not run in a program that is linked with -static: the checker puts static "
            "storage back before each execution, and that of the C library with it. Link this "
            "program without -static");
    }
}

void engine::keep_statics() { statics_ = std::make_shared<static_copy>(); }

void engine::put_back_statics() noexcept {
    std::memcpy(__data_start, statics_->data.data(), data_size());
    std::memcpy(__bss_start, statics_->bss.data(), bss_size());
}

void engine::clear_execution() {
    put_back_statics();
    sequential.clear(location_count);
    heavy.clear(location_count);
    ++number;
    table_used_ = 0;
    records.reset();
    heap.reset();
    events.clear();
    position = 0;
    failed = redundant = limited_here = false;
    thread_count = running = 0;
    preemptions = old_values = spurious = weak_failures = timeouts = steps = idle = lonely = 0;
    clock_used = false;
    now = first_time_ns;
    location_count = 0;
}

bool engine::in_statics(const void* at) const noexcept {
    const auto* const byte = static_cast<const char*>(at);
    return (byte >= __data_start && byte < _edata) || (byte >= __bss_start && byte < _end);
}

/// Returns a live block that is not reachable by pointers from static storage. Null if there is none. Large
/// blocks are not searched for pointers, because they are buffers, not objects.
const tracked_heap::block* engine::lost_block() {
    constexpr std::size_t large = 16 * 1024;
    std::vector<const tracked_heap::block*> reached;
    const auto scan = [&](const char* first, const char* last) {
        for (; first + sizeof(void*) <= last; first += sizeof(void*)) {
            void* pointer = nullptr;
            std::memcpy(&pointer, first, sizeof pointer);
            if (!heap.contains(pointer)) continue;
            if (const tracked_heap::block* b = heap.find(pointer); b != nullptr && heap.mark(*b))
                reached.push_back(b);
        }
    };
    scan(__data_start, _edata);
    scan(__bss_start, _end);
    for (std::size_t next = 0; next < reached.size(); ++next) {
        if (reached[next]->size < large)
            scan(reached[next]->start, reached[next]->start + reached[next]->size);
    }
    return heap.first_unmarked();
}

engine::ending engine::execute(const model& m) {
    subject = &m;
    clear_execution();
    start([](void* body) { reinterpret_cast<void (*)()>(body)(); }, reinterpret_cast<void*>(m.body),
          site::current());
    switch_context(outside, threads[0].where);
    active = false;
    if (redundant) return ending::redundant;
    if (!failed && m.how.leaks && heap.live() != 0) {
        if (const tracked_heap::block* lost = lost_block()) {
            failed = true;
            found.failure = "leak: a block of " + std::to_string(lost->size) + " bytes is lost (allocation "
                            + std::to_string(lost->number) + ", by T" + std::to_string(lost->thread) + ")";
        }
    }
    thread_count = 0;
    return failed ? ending::failed : ending::finished;
}

void engine::fail(std::string_view what, const site& where) {
    fail_at(what, where.file_name(), where.line());
}

void engine::fail_at(std::string_view what, std::string_view file, unsigned line) {
    if (thread_count == 0) throw std::logic_error(std::string(what));
    found.failure = what;
    found.failure_file = file;
    found.failure_line = line;
    failed = true;
    if (tracing) events.push_back({running, "FAILS", "", "", std::string(file), line});
    for (;;) switch_context(self().where, outside);
}

void engine::abandon() {
    redundant = true;
    for (;;) switch_context(self().where, outside);
}

std::uint64_t engine::random() noexcept {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1DU >> 16;
}

unsigned engine::choose(unsigned count) {
    if (count <= 1) return 0;
    if (randomly) {
        // Half of the choices take the first alternative: the newest value, no spurious event.
        const auto taken = static_cast<unsigned>((random() & 1U) != 0 ? 0 : random() % count);
        path.push_back({count, taken});
        ++position;
        return taken;
    }
    if (position == path.size()) path.push_back({count, 0});
    choice& next = path[position++];
    if (next.count == 0) next.count = count; // the path comes from a replay string
    if (next.count != count || next.taken >= next.count) {
        fail_at("the model took another course than before with the same choices: it depends on something "
                "that is not the checker's (or the replay string is of another model or build)",
                "", 0);
    }
    return next.taken;
}

} // namespace ekiden::check

// The model's heap. The checker has one thread, so the flag needs no synchronization.
namespace {

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    ekiden::check::engine* const e = ekiden::check::instance;
    if (e == nullptr || !e->active) {
        if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size == 0 ? 1 : size);
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    e->active = false;
    void* const at = e->heap.allocate(size, alignment, e->running);
    if (e->tracing) e->record("new", std::to_string(size) + " bytes", "", e->self().last_site);
    e->active = true;
    return at;
}

void release(void* at) noexcept {
    ekiden::check::engine* const e = ekiden::check::instance;
    if (at == nullptr) return;
    if (e == nullptr || !e->heap.contains(at)) return std::free(at);
    const bool was = e->active;
    e->active = false;
    if (e->tracing && was) e->record("delete", "", "", e->self().last_site);
    if (!e->heap.release(at)) e->fail("memory freed twice, or never allocated", e->self().last_site);
    e->active = was;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void* const at = allocate(size, alignment)) return at;
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { release(at); }
void operator delete[](void* at) noexcept { release(at); }
void operator delete(void* at, std::size_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t) noexcept { release(at); }
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete[](void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { release(at); }
