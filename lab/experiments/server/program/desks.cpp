#include "desks.hpp"

#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <mutex>
#include <unordered_map>

namespace lab::server {
namespace {

using strand = asio::strand<asio::thread_pool::executor_type>;

/// Only the network thread finds the strands and uses their table, like the accounts of the server with
/// lanes.
class strand_desk : public ordered::desk {
public:
    strand_desk(const ordered::options& chosen, ordered::way_back& back)
        : desk(back), room_(chosen.limit.lane), pool_(chosen.threads) {}

    bool take(ordered::request& r) override {
        if (r.of->under_way > room_) return false;
        asio::post(strand_of(r.of), [this, &r] { run(r); });
        return true;
    }

protected:
    strand& strand_of(const void* whose) {
        const auto known = strands_.find(whose);
        if (known != strands_.end()) return known->second;
        return strands_.emplace(whose, asio::make_strand(pool_)).first->second;
    }

private:
    const std::size_t room_;
    asio::thread_pool pool_;
    std::unordered_map<const void*, strand> strands_;
};

class mutex_desk final : public strand_desk {
public:
    using strand_desk::strand_desk;

    bool take(ordered::request& r) override {
        asio::post(strand_of(&r.owner), [this, &r] {
            const std::lock_guard lock(all_);
            run(r);
        });
        return true;
    }

private:
    std::mutex all_;
};

} // namespace

std::unique_ptr<ordered::desk> make_strand_desk(const ekiden::any_executor& /*unused*/,
                                                const ordered::options& chosen, ordered::way_back& back) {
    return std::make_unique<strand_desk>(chosen, back);
}
std::unique_ptr<ordered::desk> make_mutex_desk(const ekiden::any_executor& /*unused*/,
                                               const ordered::options& chosen, ordered::way_back& back) {
    return std::make_unique<mutex_desk>(chosen, back);
}

} // namespace lab::server
