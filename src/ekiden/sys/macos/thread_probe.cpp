#include <ekiden/sys/thread_probe.hpp>

#include <mach/mach.h>
#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

/// Reads what the system knows about the thread. Returns false if the thread is unknown.
bool read(long thread, thread_basic_info& info) noexcept {
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    return thread != 0
           && ::thread_info(static_cast<mach_port_t>(thread), THREAD_BASIC_INFO,
                            reinterpret_cast<thread_info_t>(&info), &count)
                  == KERN_SUCCESS;
}

std::uint64_t ns(const time_value_t& time) noexcept {
    return static_cast<std::uint64_t>(time.seconds) * 1'000'000'000U
           + static_cast<std::uint64_t>(time.microseconds) * 1000U;
}

} // namespace

thread_probe thread_probe::of_this_thread() noexcept {
    thread_probe made;
    made.thread_ = static_cast<long>(::pthread_mach_thread_np(::pthread_self()));
    return made;
}

std::uint64_t thread_probe::cpu_ns() const noexcept {
    thread_basic_info info{};
    return read(thread_, info) ? ns(info.user_time) + ns(info.system_time) : 0;
}

bool thread_probe::is_asleep() const noexcept {
    thread_basic_info info{};
    return read(thread_, info)
           && (info.run_state == TH_STATE_WAITING || info.run_state == TH_STATE_UNINTERRUPTIBLE);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
