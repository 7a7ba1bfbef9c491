#include <ekiden/pool/default_pool.hpp>

#include <ekiden/pool/scheduler.hpp>

namespace ekiden::inline EKIDEN_ABI {

thread_pool& default_pool() {
    static thread_pool& pool = *new thread_pool({.name = "default"});
    return pool;
}

thread_pool& this_pool() {
    thread_pool* const here = scheduler::of_this_thread();
    return here != nullptr ? *here : default_pool();
}

} // namespace ekiden::inline EKIDEN_ABI
