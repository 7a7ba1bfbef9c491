/// The keys that have records, for the threads of a worker.
///
/// Part: postgres. Private.
#pragma once

#include <ekiden/postgres/detail/connection.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/clock.hpp>

#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::postgres::detail {

/// Finds keys with records, and gives each key to one thread of this worker at a time. Other processes can
/// find the same key, so a thread must also lock the row of the key.
///
/// One thread searches on behalf of all idle threads. The search goes through the keys in their order, and
/// begins where the last search has ended. So each key has its turn, however many records other keys have.
class key_source {
public:
    key_source(std::string queue, unsigned search, std::chrono::milliseconds poll_every);

    /// Waits until there are keys, and returns at most `most` keys. Searches with the connection `with`.
    /// Returns nothing after stop(). Throws error.
    [[nodiscard]] std::vector<std::string> take(connection& with, std::size_t most);
    /// Gives keys back. The keys of `again` still have records.
    void give_back(const std::vector<std::string>& keys, const std::vector<std::string>& again);
    /// Ends all waits.
    void stop();

private:
    [[nodiscard]] std::vector<std::string> search(connection& with);
    void clean(connection& with);

    const std::string queue_;
    const unsigned search_; // keys of one search
    const std::chrono::milliseconds poll_every_;

    // Of the thread that searches.
    std::string begin_;
    sys::clock::time_point next_clean_;

    mutex mutex_;
    std::deque<std::string> found_;         // in the order of the search
    std::unordered_set<std::string> known_; // the keys in found_, and the keys that threads have
    bool is_searching_ = false, is_stopped_ = false;
    event ready_;   // set if found_ has keys, or if no thread searches
    event stopped_; // set by stop()
};

} // namespace ekiden::inline EKIDEN_ABI::postgres::detail
