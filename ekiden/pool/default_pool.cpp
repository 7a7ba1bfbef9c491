#include <ekiden/pool/default_pool.hpp>

namespace ekiden::inline EKIDEN_ABI {

thread_pool& default_pool() {
    static thread_pool& pool = *new thread_pool({.name = "default"});
    return pool;
}

} // namespace ekiden::inline EKIDEN_ABI
