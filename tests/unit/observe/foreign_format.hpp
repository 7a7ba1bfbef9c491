/// A stream that writes numbers in an unusual way, under a global locale that also does so.
#pragma once

#include <iomanip>
#include <locale>
#include <sstream>
#include <string>

namespace ekiden_test {

/// Returns what `write(stream)` writes to such a stream.
template <class Write>
std::string written_in_foreign_format(Write&& write) {
    struct foreign : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new foreign));
    std::ostringstream out;
    out << std::hex << std::showbase << std::uppercase << std::showpos << std::setfill('*') << std::setw(20);
    write(out);
    std::locale::global(before);
    return out.str();
}

} // namespace ekiden_test
