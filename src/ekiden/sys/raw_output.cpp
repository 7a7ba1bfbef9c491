#include <ekiden/sys/raw_output.hpp>

#include <algorithm>
#include <iterator>

namespace ekiden::inline EKIDEN_ABI::sys {

raw_output& raw_output::operator<<(std::string_view text) noexcept {
    while (!text.empty()) {
        if (used_ == buffer_.size()) flush();
        const std::size_t part = std::min(text.size(), buffer_.size() - used_);
        std::copy_n(text.data(), part, buffer_.data() + used_);
        used_ += part;
        text.remove_prefix(part);
    }
    return *this;
}

raw_output& raw_output::operator<<(std::uint64_t number) noexcept {
    char digits[20];
    char* const end = std::end(digits);
    char* first = end;
    do *--first = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(first, static_cast<std::size_t>(end - first));
}

raw_output& raw_output::duration(std::uint64_t ns) noexcept {
    if (ns < 1'000'000) return *this << ns / 1000 << " us";
    if (ns < 1'000'000'000) return *this << ns / 1'000'000 << " ms";
    return *this << ns / 1'000'000'000 << "." << ns / 100'000'000 % 10 << " s";
}

} // namespace ekiden::inline EKIDEN_ABI::sys
