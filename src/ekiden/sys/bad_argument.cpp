#include <ekiden/sys/bad_argument.hpp>

#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::sys {

void refuse_argument(std::string_view where, std::string_view argument, std::string_view value,
                     std::string_view allowed) {
    std::string message(where);
    message.append(": ").append(argument).append(" is ").append(value);
    message.append(", allowed is ").append(allowed);
    throw std::invalid_argument(message);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
