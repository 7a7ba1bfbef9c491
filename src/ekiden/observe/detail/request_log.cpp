#include <ekiden/observe/detail/text.hpp>
#include <ekiden/observe/request_log.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/ticks.hpp>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace {

std::array<std::uint64_t, 2> salt_of(const std::array<std::uint64_t, 2>& chosen) {
    if (chosen[0] != 0 || chosen[1] != 0) return chosen;
    std::random_device draw;
    const auto word = [&draw] { return std::uint64_t{draw()} << 32 | draw(); };
    return {word(), word()};
}

} // namespace

request_log::request_log(const options& chosen)
    : chosen_(chosen), salt_(salt_of(chosen.salt)), entries_(std::make_unique<entry[]>(chosen.capacity)) {
    if (chosen.capacity == 0) sys::refuse_argument("request_log", "capacity", chosen.capacity, "1 or more");
}

request_log::entry* request_log::begin(std::uint64_t key) noexcept {
    const std::uint64_t now = sys::now_ns();
    // Relaxed is enough, because the addition only assigns a number to the request. A separate store
    // publishes each entry.
    const std::uint64_t number = arrived_.fetch_add(1, sys::relaxed);
    if (number >= chosen_.capacity) return nullptr;
    entry& mine = entries_[number];
    mine.arrival_ns.write(now);
    mine.key.write(key);
    if (chosen_.blocking) mine.block_ns.store(1, sys::relaxed);
    return &mine;
}

request_log::service::service(entry* of) noexcept : of_(of) {
    if (of_ == nullptr) return;
    has_cpu_ = of_->block_ns.load(sys::relaxed) != 0;
    // The two readings of the clock lie between the two readings of the processor time. So no work is counted
    // as waiting.
    if (has_cpu_) cpu_ns_ = sys::this_thread_cpu_ns();
    begin_ns_ = sys::now_ns();
}

request_log::service::~service() {
    if (of_ == nullptr) return;
    const std::uint64_t whole = sys::now_ns() - begin_ns_;
    std::uint64_t block = 0;
    if (has_cpu_) {
        const std::uint64_t cpu = sys::this_thread_cpu_ns();
        const std::uint64_t worked = cpu - cpu_ns_;
        block = cpu == 0 || worked >= whole ? 0 : whole - worked;
        of_->block_ns.store(block + 1, sys::relaxed);
    }
    // [RQ1] Release: publishes the complete entry. Pairs with the acquire in write_csv().
    of_->ended.store(whole - block + 1, sys::release);
}

request_log::summary request_log::write_csv(std::ostream& to) const {
    struct line {
        std::uint64_t arrival_ns, number, key, service_ns, block_ns;
    };
    const std::uint64_t arrived = arrived_.load(sys::relaxed);
    const std::uint64_t kept = std::min<std::uint64_t>(arrived, chosen_.capacity);
    summary found{.lost = arrived - kept};
    std::vector<line> lines;
    for (std::uint64_t i = 0; i != kept; ++i) {
        const entry& one = entries_[i];
        // [RQ1] Acquire: pairs with the release in ~service()
        const std::uint64_t ended = one.ended.load(sys::acquire);
        if (ended != 0)
            lines.push_back({one.arrival_ns.read(), i, one.key.read(), ended - 1,
                             std::max<std::uint64_t>(one.block_ns.load(sys::relaxed), 1) - 1});
    }
    found.written = lines.size();
    found.unfinished = kept - lines.size();
    std::sort(lines.begin(), lines.end(), [](const line& a, const line& b) {
        return std::pair(a.arrival_ns, a.number) < std::pair(b.arrival_ns, b.number);
    });
    text::put(to, "arrival_ns,key,service_ns,block_ns\n");
    std::string text;
    for (const line& l : lines) {
        text.clear();
        for (const std::uint64_t number :
             {l.arrival_ns - lines.front().arrival_ns, l.key, l.service_ns, l.block_ns})
            text.append(std::to_string(number)).push_back(',');
        text.back() = '\n';
        text::put(to, text);
    }
    return found;
}

std::uint64_t request_log::hash(const void* bytes, std::size_t size) const noexcept {
    std::uint64_t a = salt_[0] ^ 0x736f6d6570736575U;
    std::uint64_t b = salt_[1] ^ 0x646f72616e646f6dU;
    std::uint64_t c = salt_[0] ^ 0x6c7967656e657261U;
    std::uint64_t d = salt_[1] ^ 0x7465646279746573U;
    const auto round = [&] {
        a += b;
        c += d;
        b = std::rotl(b, 13) ^ a;
        d = std::rotl(d, 16) ^ c;
        a = std::rotl(a, 32) + d;
        c += b;
        d = std::rotl(d, 21) ^ a;
        b = std::rotl(b, 17) ^ c;
        c = std::rotl(c, 32);
    };
    const auto* const text = static_cast<const unsigned char*>(bytes);
    for (std::size_t at = 0;; at += 8) { // the last word contains the remaining bytes and the length
        const std::size_t left = size - at;
        std::uint64_t word = left < 8 ? std::uint64_t{size} << 56 : 0;
        for (std::size_t i = 0; i != std::min<std::size_t>(left, 8); ++i)
            word |= std::uint64_t{text[at + i]} << 8 * i;
        d ^= word;
        round();
        round();
        a ^= word;
        if (left < 8) break;
    }
    c ^= 0xff;
    for (int i = 0; i != 4; ++i) round();
    return a ^ b ^ c ^ d;
}

} // namespace ekiden::inline EKIDEN_ABI
