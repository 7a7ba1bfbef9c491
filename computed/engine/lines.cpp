#include <computed/engine/lines.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <new>

extern "C" char __data_start, _end; // the linker's names for the bounds of static objects

namespace ekiden::computed {

line_table::line_table(const machine& of, unsigned seed)
    : machine_(of), dice_(88172645463325252 ^ seed * std::uint64_t{0x9E3779B97F4A7C15}) {
    for (unsigned one = 0; one != of.total(); ++one) {
        for (unsigned other = 0; other != of.total(); ++other) {
            if (of.cluster_of(one) == of.cluster_of(other)) cluster_[one].add(other);
            if (of.socket_of(one) == of.socket_of(other)) socket_[one].add(other);
        }
    }
    statics_ = reinterpret_cast<std::uintptr_t>(&__data_start) / arena::line_size * arena::line_size;
    statics_size_ = reinterpret_cast<std::uintptr_t>(&_end) - statics_;
    lines_size_ = ((arena::size + statics_size_) / arena::line_size + 1) * sizeof(line);
    void* const made = ::mmap(nullptr, lines_size_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    lines_ = static_cast<line*>(made);
}

line_table::~line_table() { ::munmap(lines_, lines_size_); }

picoseconds line_table::read_cost(const line& it, unsigned core) const noexcept {
    if (it.owner != 0) return machine_.line[static_cast<unsigned>(machine_.between(it.owner - 1U, core))];
    if (it.sharers.empty()) return machine_.cold;
    return machine_.line[it.sharers.meets(cluster_[core]) ? 0 : it.sharers.meets(socket_[core]) ? 1 : 2];
}

picoseconds line_table::write_cost(const line& it, unsigned core) const noexcept {
    if (it.owner != 0) return machine_.line[static_cast<unsigned>(machine_.between(it.owner - 1U, core))];
    core_set self{};
    self.add(core);
    if (!it.sharers.exceeds(self))
        return it.sharers.empty() ? machine_.cold : 0; // nobody else: exclusive state
    // The farthest reader must give up its copy.
    return machine_.line[it.sharers.exceeds(socket_[core]) ? 2 : it.sharers.exceeds(cluster_[core]) ? 1 : 0];
}

line_table::service line_table::reserve(line& it, unsigned core, picoseconds now, request what) noexcept {
    const bool is_write = what != request::read;
    service found{now, is_write ? write_cost(it, core) : read_cost(it, core), 0};
    if (it.free > now) {
        found.start = it.free;
        // The line will come from the last core that waits for it.
        if (it.last != core && (is_write || it.owner != 0))
            found.length = machine_.line[static_cast<unsigned>(machine_.between(it.last, core))];
    }
    found.length = varied(found.length);
    const bool is_copy = !is_write && it.owner == 0;
    it.free = found.start + (is_copy ? std::min(found.length, machine_.share) : found.length);
    if (what == request::modify && found.length > machine_.cold) found.hold = varied(machine_.hold);
    it.free += found.hold;
    it.last = static_cast<std::uint16_t>(core);
    return found;
}

void line_table::give(line& it, unsigned core, bool is_write) noexcept {
    if (is_write) {
        it.sharers = {};
        it.owner = static_cast<std::uint16_t>(core + 1);
        return;
    }
    if (it.owner != 0) it.sharers.add(it.owner - 1U);
    it.owner = 0;
    it.sharers.add(core);
}

} // namespace ekiden::computed
