#include <ekiden/kafka/detail/commit_metadata.hpp>

#include <ekiden/sys/contract.hpp>

#include <algorithm>
#include <array>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

namespace {

// The text is the base64 form of: "ek", the version, the offset (8 bytes, big-endian), the bits. The offset
// detects metadata that a tool has copied to another offset.
constexpr std::string_view magic = "ek";
constexpr unsigned char version = 1;
constexpr std::size_t head = magic.size() + 1 + sizeof(std::uint64_t);
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static_assert((head + most_window / 8 + 2) / 3 * 4 <= most_metadata);

std::string to_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j != 3; ++j)
            group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        for (std::size_t j = 0; j != 4; ++j)
            text += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63U] : '=';
    }
    return text;
}

/// Returns an empty optional if the text is not exactly the base64 form of some bytes.
std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return {};
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j != 4; ++j) {
            const std::size_t value = text[i + j] == '=' ? 0 : letters.find(text[i + j]);
            if (value == letters.npos) return {};
            group = group << 6 | static_cast<std::uint32_t>(value);
        }
        for (unsigned shift = 24; shift != 0;) bytes += static_cast<char>(group >> (shift -= 8) & 255U);
    }
    if (!text.empty() && text.back() == '=') bytes.pop_back();
    if (text.size() > 1 && text[text.size() - 2] == '=') bytes.pop_back();
    if (to_base64(bytes) != text) return {};
    return bytes;
}

} // namespace

std::string to_metadata(const done_offsets& done) {
    sys::expects(done.bits.size() <= most_window, "the done offsets of a commit exceed the window");
    const auto last = std::find(done.bits.rbegin(), done.bits.rend(), true);
    if (last == done.bits.rend()) return {};
    const auto count = static_cast<std::size_t>(done.bits.rend() - last);
    std::string bytes(magic);
    bytes += static_cast<char>(version);
    for (unsigned shift = 64; shift != 0;)
        bytes += static_cast<char>(static_cast<std::uint64_t>(done.first) >> (shift -= 8) & 255U);
    bytes.resize(head + (count + 7) / 8);
    for (std::size_t i = 0; i != count; ++i) {
        if (!done.bits[i]) continue;
        const unsigned byte = static_cast<unsigned char>(bytes[head + i / 8]);
        bytes[head + i / 8] = static_cast<char>(byte | 1U << (i % 8));
    }
    return to_base64(bytes);
}

std::optional<done_offsets> from_metadata(std::int64_t committed, std::string_view text) {
    done_offsets done;
    done.first = std::max<std::int64_t>(committed, 0);
    if (text.empty()) return done;
    const std::optional<std::string> bytes = from_base64(text);
    if (!bytes || bytes->size() <= head || bytes->size() > head + most_window / 8) return {};
    if (bytes->compare(0, magic.size(), magic) != 0) return {};
    if (static_cast<unsigned char>((*bytes)[magic.size()]) != version) return {};
    std::uint64_t offset = 0;
    for (std::size_t i = magic.size() + 1; i != head; ++i)
        offset = offset << 8 | static_cast<unsigned char>((*bytes)[i]);
    if (committed < 0 || offset != static_cast<std::uint64_t>(committed)) return {};
    done.bits.resize((bytes->size() - head) * 8);
    for (std::size_t i = 0; i != done.bits.size(); ++i)
        done.bits[i] = (static_cast<unsigned char>((*bytes)[head + i / 8]) >> (i % 8) & 1U) != 0;
    return done;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
