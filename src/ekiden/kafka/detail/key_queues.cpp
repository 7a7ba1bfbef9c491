#include <ekiden/kafka/detail/key_queues.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

key_queues::entry key_queues::enter_slowly(held_record& r) {
    const std::scoped_lock hold(lock_);
    if (is_closed_) return entry::closed;
    if (!r.has_key) return entry::run;
    if (!r.leads_key) {
        const auto at = waiting_.find(r.key);
        if (at != waiting_.end()) {
            // From here on, the polling thread can free the record.
            r.phase.store(record_phase::idle, sys::relaxed);
            at->second.push_back(&r);
            return entry::waits;
        }
    }
    return parked_.contains(r.key) ? entry::parked : entry::run;
}

bool key_queues::lead(held_record& r) {
    const std::scoped_lock hold(lock_);
    if (is_closed_) return false;
    if (!r.has_key || r.leads_key) return true;
    waiting_.try_emplace(std::string(r.key));
    r.leads_key = true;
    count_.fetch_add(1, sys::relaxed);
    return true;
}

bool key_queues::park(std::string_view key) {
    const std::scoped_lock hold(lock_);
    const bool is_new = parked_.emplace(key).second;
    if (is_new) count_.fetch_add(1, sys::relaxed);
    return is_new;
}

held_record* key_queues::next(held_record& ended) {
    const std::scoped_lock hold(lock_);
    const auto at = waiting_.find(ended.key);
    if (at == waiting_.end()) return nullptr; // closed
    if (at->second.empty()) {
        waiting_.erase(at);
        count_.fetch_sub(1, sys::relaxed);
        return nullptr;
    }
    held_record* const first = at->second.front();
    at->second.pop_front();
    first->leads_key = true;
    return first;
}

std::vector<held_record*> key_queues::close() {
    const std::scoped_lock hold(lock_);
    std::vector<held_record*> all;
    for (auto& [key, records] : waiting_) all.insert(all.end(), records.begin(), records.end());
    count_.fetch_add(1, sys::relaxed); // It may exceed the number of entries now. Only 0 has a meaning.
    waiting_.clear();
    is_closed_ = true;
    return all;
}

std::size_t key_queues::waiting_keys() const {
    const std::scoped_lock hold(lock_);
    return waiting_.size();
}

std::size_t key_queues::parked_keys() const {
    const std::scoped_lock hold(lock_);
    return parked_.size();
}

std::pair<std::string, std::size_t> key_queues::longest() const {
    const std::scoped_lock hold(lock_);
    std::pair<std::string, std::size_t> found;
    for (const auto& [key, records] : waiting_) {
        if (records.size() + 1 > found.second) found = {key, records.size() + 1};
    }
    return found;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
