#include <tests/unit/guarded_page.hpp>

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace ekiden_test {

guarded_page::guarded_page() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* const made = ::mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) std::abort();
    memory_ = static_cast<std::byte*>(made);
    if (::mprotect(end(), size_, PROT_NONE) != 0) std::abort();
}

void guarded_page::release() noexcept {
    if (!is_released_) ::munmap(memory_, 2 * size_);
    is_released_ = true;
}

} // namespace ekiden_test
