#include <ekiden/sys/contract.hpp>

#include <cstdio>
#include <cstdlib>

namespace ekiden::inline EKIDEN_ABI::sys {

void contract_broken(const char* what) noexcept {
    std::fprintf(stderr, "ekiden: %s\n", what);
    std::abort();
}

} // namespace ekiden::inline EKIDEN_ABI::sys
