/// The cache lines of the computed machine: which cores have each line, and until when a line is busy.
///
/// Part: computed (engine). The states are those of MESI. A line has one owner (modified or exclusive), or
/// any number of readers (shared), or no core has it. Only lines of the arena and of static objects have a
/// state. Each other access counts as a hit.
///
/// A request for a line that another core has begins when all earlier requests for that line have ended. So a
/// busy line serves one request at a time, in the order of the clocks. Caches are unlimited: a core loses a
/// line only to another core.
#pragma once

#include <computed/engine/machine.hpp>

#include <cstdint>

namespace ekiden::computed {

/// The memory whose lines are modeled. It has a fixed address, so that runs repeat.
struct arena {
    static constexpr std::uintptr_t base = 0x2000'0000'0000;
    static constexpr std::size_t heap_size = std::size_t{3} << 29;
    static constexpr std::size_t stack_size = std::size_t{1} << 19; // of each thread, with a guard page
    static constexpr std::size_t most_threads = 1024;
    static constexpr std::size_t size = heap_size + stack_size * most_threads;
    static constexpr std::size_t line_size = 64;

    [[nodiscard]] static bool contains(const void* at) noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - base < size;
    }
    [[nodiscard]] static char* stack_of(std::size_t thread) noexcept {
        return reinterpret_cast<char*>(base + heap_size + thread * stack_size);
    }
};

/// A set of cores.
struct core_set {
    std::uint64_t bits[2];

    [[nodiscard]] bool has(unsigned core) const noexcept {
        return (bits[core / 64] >> (core % 64) & 1U) != 0;
    }
    void add(unsigned core) noexcept { bits[core / 64] |= std::uint64_t{1} << (core % 64); }
    [[nodiscard]] bool meets(const core_set& other) const noexcept {
        return ((bits[0] & other.bits[0]) | (bits[1] & other.bits[1])) != 0;
    }
    [[nodiscard]] bool exceeds(const core_set& other) const noexcept {
        return ((bits[0] & ~other.bits[0]) | (bits[1] & ~other.bits[1])) != 0;
    }
    [[nodiscard]] bool empty() const noexcept { return (bits[0] | bits[1]) == 0; }
};

/// The state of one line. All members are zero initially, and then no core has the line.
struct line {
    core_set sharers;
    picoseconds free;    // the line serves the next request from this time on
    std::uint16_t owner; // the number of the owner plus 1, or 0
    std::uint16_t last;  // the core that made the last request

    [[nodiscard]] bool readable_by(unsigned core) const noexcept {
        return owner == core + 1U || sharers.has(core);
    }
    /// A core that alone has the line may write to it without a message (exclusive state).
    [[nodiscard]] bool owned_by(unsigned core) const noexcept { return owner == core + 1U; }
};

class line_table {
public:
    explicit line_table(const machine& of, unsigned seed = 0);
    ~line_table();
    line_table(const line_table&) = delete;
    line_table& operator=(const line_table&) = delete;

    /// Returns null if the address is neither in the arena nor static.
    [[nodiscard]] line* find(const void* at) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        if (address - arena::base < arena::size) return lines_ + (address - arena::base) / arena::line_size;
        if (address - statics_ < statics_size_)
            return lines_ + (arena::size + (address - statics_)) / arena::line_size;
        return nullptr;
    }

    [[nodiscard]] const void* address_of(const line& it) const noexcept {
        const auto offset = static_cast<std::uintptr_t>(&it - lines_) * arena::line_size;
        return reinterpret_cast<const void*>(offset < arena::size ? arena::base + offset
                                                                  : statics_ + (offset - arena::size));
    }

    /// Returns a length that varies evenly around `length`, by the jitter of the table. Without it, two
    /// threads can stay in a rhythm that no real machine keeps. Equal runs get equal lengths.
    [[nodiscard]] picoseconds varied(picoseconds length) noexcept {
        dice_ ^= dice_ << 13, dice_ ^= dice_ >> 7, dice_ ^= dice_ << 17; // xorshift (Marsaglia 2003)
        const picoseconds most = length * machine_.jitter / 100;
        return length - most + (2 * most * (dice_ >> 44) >> 20);
    }

    /// When a request begins, and how long it takes.
    struct service {
        picoseconds start;
        picoseconds length;
        picoseconds hold; // after the end
    };

    /// Reserves the line for a request of `core` that is made at `now`. The request does not change the state
    /// yet. A read-modify-write keeps the line for a while after its end, because the core has its next
    /// locked operations under way (`hold` of the table).
    enum class request : std::uint8_t { read, write, modify };
    service reserve(line& it, unsigned core, picoseconds now, request what) noexcept;
    /// Changes the state, at the start of the request.
    static void give(line& it, unsigned core, bool is_write) noexcept;

private:
    [[nodiscard]] picoseconds read_cost(const line& it, unsigned core) const noexcept;
    [[nodiscard]] picoseconds write_cost(const line& it, unsigned core) const noexcept;

    const machine& machine_;
    core_set cluster_[128] = {}; // the cores of each core's cluster
    core_set socket_[128] = {};
    line* lines_ = nullptr;
    std::size_t lines_size_ = 0;
    std::uintptr_t statics_ = 0;
    std::size_t statics_size_ = 0;
    std::uint64_t dice_;
};

} // namespace ekiden::computed
