#include <check/engine/text.hpp>

#include <array>
#include <cstdio>
#include <fstream>

namespace ekiden::check::text {
namespace {
std::string_view root;
} // namespace

std::string_view name(order how) noexcept {
    switch (how) {
    case order::relaxed:
        return "relaxed";
    case order::consume:
        return "consume";
    case order::acquire:
        return "acquire";
    case order::release:
        return "release";
    case order::acq_rel:
        return "acq_rel";
    case order::seq_cst:
        return "seq_cst";
    }
    return "?";
}

std::string operation(std::string_view what, std::string_view object, order how) {
    std::string out(what);
    if (!object.empty()) out.append(" ").append(object);
    return out.append(" ").append(name(how));
}

std::string value(std::uint64_t bits, unsigned size) {
    const std::uint64_t all = size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size) - 1;
    if (all - bits < 64) return "-" + std::to_string(all - bits + 1);
    if (bits < 100'000) return std::to_string(bits);
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(bits));
    return hex.data();
}

void set_root(std::string_view folder) noexcept { root = folder; }

std::string short_path(std::string_view path) {
    const bool below = !root.empty() && path.size() > root.size() && path.starts_with(root);
    if (below && path[root.size()] == '/') path.remove_prefix(root.size() + 1);
    constexpr std::string_view installed = "/ekiden-check/";
    if (const auto at = path.rfind(installed); at != path.npos) path.remove_prefix(at + installed.size());
    // Some compiler caches make paths relative to the build folder, which usually lies in the root.
    while (path.starts_with("../")) path.remove_prefix(3);
    return std::string(path);
}

std::string source_line(const std::string& file, unsigned line, std::size_t width) {
    std::ifstream in(file);
    if (!in) in.open(std::string(root) + "/" + short_path(file));
    std::string text;
    for (unsigned i = 0; i < line; ++i) {
        if (!std::getline(in, text)) return {};
    }
    const auto start = text.find_first_not_of(" \t");
    if (start == std::string::npos) return {};
    return text.substr(start, width);
}

} // namespace ekiden::check::text
