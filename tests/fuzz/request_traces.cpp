// The reader of request traces gets arbitrary bytes. It either refuses them with a position, or makes a valid
// trace, which can be written to a file and read back unchanged.
#include <lab/replay/request_trace.hpp>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace lab::replay;

void expect(bool holds) {
    if (!holds) std::abort();
}

std::optional<request_trace> read(const std::string& bytes, const trace_format& format) {
    std::istringstream in(bytes);
    try {
        return read_trace(in, "t", format);
    } catch (const trace_error& refused) { // no other exception is allowed
        const std::string_view why = refused.what();
        expect(why.starts_with("t:") || why.starts_with("--columns:"));
        expect(why.find('\n') == std::string_view::npos);
        return std::nullopt;
    }
}

void check(const request_trace& t) {
    constexpr std::uint64_t most_ns = std::uint64_t{1} << 53;
    expect(!t.requests.empty() && t.requests.front().arrival_ns == 0);
    expect(t.length_ns() > 0 && t.rate() > 0);
    std::uint32_t keys = 0;
    std::uint64_t before = 0;
    for (const request& r : t.requests) {
        expect(r.arrival_ns >= before && r.arrival_ns - before <= 3'601'000'000'000);
        expect(r.arrival_ns <= most_ns + 1'000'000'000 && r.service_ns <= most_ns && r.block_ns <= most_ns);
        expect(r.key <= keys);
        keys += r.key == keys;
        before = r.arrival_ns;
    }
    expect(t.keys == keys);
}

std::string written(const request_trace& t) {
    std::ostringstream out;
    write_trace(out, t);
    return out.str();
}

} // namespace

/// The first byte selects how the rest is interpreted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    trace_format format;
    if ((data[0] & 1) != 0) format.service_ns = 1'000;
    if ((data[0] & 2) != 0) format.class_ns = {{"a", 1}, {"7", 2}};
    if ((data[0] & 4) != 0) {
        const std::size_t end = bytes.find('\n');
        format.columns = bytes.substr(0, end);
    }
    const std::optional<request_trace> first = read(bytes, format);
    if (!first) return 0;
    check(*first);
    const std::optional<request_trace> second = read(written(*first), {});
    expect(second.has_value());
    check(*second);
    // Otherwise arrivals of a second are spread.
    if (second->remark.empty()) expect(written(*second) == written(*first));
    return 0;
}
