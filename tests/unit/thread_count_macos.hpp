/// The number of threads of this process on macOS.
#pragma once

#include <mach/mach.h>

namespace ekiden_test {

inline int count_threads_of_process() {
    thread_act_array_t threads = nullptr;
    mach_msg_type_number_t count = 0;
    if (::task_threads(::mach_task_self(), &threads, &count) != KERN_SUCCESS) return 0;
    for (mach_msg_type_number_t i = 0; i != count; ++i)
        (void)::mach_port_deallocate(::mach_task_self(), threads[i]);
    (void)::vm_deallocate(::mach_task_self(), reinterpret_cast<vm_address_t>(threads),
                          count * sizeof *threads);
    return static_cast<int>(count);
}

} // namespace ekiden_test
