#include <ekiden/queue/task.hpp>

namespace ekiden::inline EKIDEN_ABI {

std::string_view described_type(const char* description) noexcept {
    // g++ writes "... type_description() [with T = NAME]". clang writes "... type_description() [T = NAME]".
    std::string_view text(description);
    const auto start = text.find("T = ");
    if (start == std::string_view::npos || text.empty() || text.back() != ']') return text;
    text.remove_prefix(start + 4);
    text.remove_suffix(1);
    return text;
}

} // namespace ekiden::inline EKIDEN_ABI
