#include <lab/experiments/tracing/tracing.hpp>
#include <lab/harness/registry.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <link.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// A probe point like those of <sys/sdt.h>: an instruction that does nothing, and its address in a section of
// the program. A section is used because a compiler may copy the instruction. An active probe replaces it by
// a breakpoint.
#define LAB_PERF_PLACE "990: nop\n.pushsection lab_perf_places, \"aw\"\n.8byte 990b\n.popsection"

extern "C" {
// The linker's symbols for the two ends of the section.
extern const char* const __start_lab_perf_places[]; // NOLINT
extern const char* const __stop_lab_perf_places[];  // NOLINT
}

namespace lab::tracing {
namespace {

[[gnu::noinline]] void moments_of(std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) asm volatile(LAB_PERF_PLACE : : "r"(i)); // a value in a register
}
[[gnu::noinline]] void intervals_of(std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        asm volatile(LAB_PERF_PLACE);
        asm volatile(LAB_PERF_PLACE);
    }
}

/// Returns the offset in the program's file of an address. 0 if there is none.
std::uint64_t offset_in_file(const void* address) {
    struct search {
        std::uint64_t address;
        std::uint64_t found;
    } looking{reinterpret_cast<std::uint64_t>(address), 0};
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto& of = *static_cast<search*>(data);
            for (int i = 0; i != object->dlpi_phnum; ++i) {
                const auto& part = object->dlpi_phdr[i];
                const std::uint64_t begin = object->dlpi_addr + part.p_vaddr;
                if (part.p_type == PT_LOAD && of.address >= begin && of.address < begin + part.p_filesz)
                    of.found = of.address - begin + part.p_offset;
            }
            return 1; // the first entry is the program itself
        },
        &looking);
    return looking.found;
}

/// A uprobe like that of `perf record`. The kernel writes a sample with the time into a ring of this thread,
/// which keeps the newest samples.
class uprobe {
public:
    /// If it cannot be created, why() has the reason.
    explicit uprobe(const void* place) {
        std::uint32_t type = 0;
        if (!(std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type)) {
            why_ = "the kernel has no uprobes";
            return;
        }
        perf_event_attr wanted{};
        wanted.size = sizeof wanted;
        wanted.type = type;
        wanted.uprobe_path = reinterpret_cast<std::uint64_t>("/proc/self/exe");
        wanted.probe_offset = offset_in_file(place);
        wanted.sample_period = 1;
        wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
        wanted.write_backward = 1;
        wanted.watermark = 1;
        wanted.wakeup_watermark = 1U << 31;
        event_ = static_cast<int>(::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
        if (event_ < 0) {
            fail("perf_event_open");
            return;
        }
        ring_ = ::mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, event_, 0);
        if (ring_ == MAP_FAILED) fail("mmap of its ring");
    }
    ~uprobe() {
        if (ring_ != MAP_FAILED) ::munmap(ring_, bytes());
        if (event_ >= 0) ::close(event_);
    }
    uprobe(const uprobe&) = delete;
    uprobe& operator=(const uprobe&) = delete;

    [[nodiscard]] const std::string& why() const { return why_; }
    /// Returns the number of bytes of samples, including overwritten ones.
    [[nodiscard]] std::uint64_t written() const {
        const auto& head = static_cast<const perf_event_mmap_page*>(ring_)->data_head;
        return std::uint64_t{0} - __atomic_load_n(&head, __ATOMIC_ACQUIRE); // it grows downwards
    }

private:
    static std::size_t bytes() { return 65 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
    void fail(const char* what) {
        std::string paranoid = "?";
        const int error = errno;
        std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
        why_ = std::string(what) + ": " + std::strerror(error) + " (kernel.perf_event_paranoid is " + paranoid
               + ")";
    }

    int event_ = -1;
    void* ring_ = MAP_FAILED;
    std::string why_;
};

template <bool IsOn>
class perf_markers {
public:
    static constexpr std::size_t slowness = IsOn ? 20 : 1; // each event enters the kernel

    explicit perf_markers(const cell& c) {
        if constexpr (IsOn) {
            for (const char* const place : std::span(__start_lab_perf_places, __stop_lab_perf_places)) {
                probes_.push_back(std::make_unique<uprobe>(place));
                if (!probes_.back()->why().empty()) c.not_applicable(probes_.back()->why());
            }
        }
    }
    static void begin() {}
    static void end() {}
    static void moments(std::size_t n) { moments_of(n); }
    static void intervals(std::size_t n) { intervals_of(n); }

    /// Checks that the events were recorded.
    void verify(const cell& c) const {
        std::uint64_t bytes = 0;
        for (const auto& one : probes_) bytes += one->written();
        if (IsOn && bytes < 50'000) c.fail("the trace has " + std::to_string(bytes) + " bytes");
    }

private:
    std::vector<std::unique_ptr<uprobe>> probes_;
};

const bool added_on =
    add(implementation{.experiment = "tracing",
                       .name = "perf",
                       .title = "perf, a uprobe",
                       .note = "the kernel's ring keeps the newest events; an interval is two "
                               "events",
                       .run = &run<perf_markers<true>>,
                       .order = 11});
const bool added_off = add(implementation{.experiment = "tracing",
                                          .name = "perf-off",
                                          .title = "perf, a marker, off",
                                          .note = "an instruction that does nothing, as <sys/sdt.h> has it",
                                          .run = &run<perf_markers<false>>,
                                          .order = 12,
                                          .ranked = false});

} // namespace
} // namespace lab::tracing
