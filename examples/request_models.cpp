// Ways to process requests, in a few lines each. `./dev lab replay` measures them and shows the recommended
// one.
#include <ekiden/ekiden.hpp>

#if __has_include(<asio.hpp>)
#define HAS_ASIO
#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <asio.hpp>
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct request {
    std::string key;
    int number; // number among the requests of this key, from 0
};

constexpr int each = 50;
const std::vector<std::string> keys{"apples", "pears", "plums"};

/// Counts the served requests of each key, and checks their order.
struct ledger {
    std::mutex mutex;
    std::map<std::string, int> served;
    bool is_in_order = true;
} book;

void serve(const request& r) {
    const std::lock_guard lock(book.mutex);
    if (book.served[r.key]++ != r.number) book.is_in_order = false;
}

using requests = std::vector<request>;

void lanes(const requests& incoming) {
    // model: ekiden
    ekiden::thread_pool pool;
    ekiden::lanes<std::string> lanes(pool.get_executor());
    for (const request& r : incoming)               // from any thread
        (void)lanes.post(r.key, [r] { serve(r); }); // one at a time for a key, in the order of the posts
    pool.join();
    // end
}

void elastic_lanes(const requests& incoming) {
    // model: ekiden-elastic-lanes
    ekiden::thread_pool pool({.threads = 2, .max_threads = 66});
    ekiden::lanes<std::string> lanes(pool.get_executor());
    for (const request& r : incoming)
        (void)lanes.post(r.key, [r] {
            const ekiden::blocking_region blocks; // marks the blocking part: another thread works meanwhile
            serve(r);
        });
    pool.join();
    // end
}

void strands(const requests& incoming) {
    // model: ekiden-strand-per-key
    ekiden::thread_pool pool;
    using strand = ekiden::strand<ekiden::thread_pool::executor_type>;
    std::map<std::string, strand> strands;
    for (const request& r : incoming) {
        const auto found = strands.try_emplace(r.key, pool.get_executor()).first;
        ekiden::post(found->second, [r] { serve(r); });
    }
    pool.join();
    // end
}

void context_per_thread(const requests& incoming) {
    // model: ekiden-context-per-thread
    ekiden::loop_pool loops; // one context with its own thread for each processor
    for (const request& r : incoming)
        // All requests of a key run on the same thread.
        ekiden::post(loops.get_executor_for(r.key), [r] { serve(r); });
    loops.join();
    // end
}

void single_consumer(const requests& incoming) {
    // model: ekiden-single-consumer
    ekiden::loop_context loop(1);
    auto open = ekiden::make_work_guard(loop);
    std::thread consumer([&loop] { loop.run(); });
    for (const request& r : incoming) ekiden::post(loop, [r] { serve(r); });
    open.reset(); // no more requests
    consumer.join();
    // end
}

void fifo_lock(const requests& incoming) {
    // model: ekiden-fifo-lock
    ekiden::fifo_mutex mutex;
    std::size_t next = 0;
    const auto take_one = [&] {
        const std::lock_guard lock(mutex); // admits threads in order of arrival
        if (next == incoming.size()) return false;
        serve(incoming[next++]);
        return true;
    };
    std::thread other([&] {
        while (take_one()) {
        }
    });
    while (take_one()) {
    }
    other.join();
    // end
}

void mutex_per_key(const requests& incoming) {
    // model: ekiden-mutex-per-key std-mutex-per-key
    std::map<std::string, ekiden::mutex> mutexes; // or std::mutex
    for (const request& r : incoming) mutexes.try_emplace(r.key);
    ekiden::thread_pool pool;
    for (const request& r : incoming)
        pool.post([r, &mutex = mutexes.at(r.key)] {
            const std::lock_guard lock(mutex); // one at a time for each key, in any order
            serve(r);
        });
    pool.join();
    // end
}

void pool_of_tasks(const requests& incoming) {
    // model: ekiden-pool
    ekiden::thread_pool pool;
    for (const request& r : incoming) pool.post([r] { serve(r); });
    pool.join();
    // end
}

void elastic_pool(const requests& incoming) {
    // model: ekiden-elastic-pool
    ekiden::thread_pool pool({.threads = 2, .max_threads = 66});
    for (const request& r : incoming)
        pool.post([r] {
            const ekiden::blocking_region blocks; // marks the blocking part: another thread works meanwhile
            serve(r);
        });
    pool.join();
    // end
}

void shared_context(const requests& incoming) {
    // model: ekiden-shared-context
    ekiden::loop_context loop;
    auto open = ekiden::make_work_guard(loop);
    std::thread first([&loop] { loop.run(); });
    std::thread second([&loop] { loop.run(); });
    for (const request& r : incoming) ekiden::post(loop, [r] { serve(r); });
    open.reset(); // no more requests
    first.join();
    second.join();
    // end
}

void half_sync(const requests& incoming) {
    // model: ekiden-half-sync
    ekiden::thread_pool pool;
    ekiden::loop_context network(1);
    auto open = ekiden::make_work_guard(network);
    std::thread reader([&network] { network.run(); });
    for (const request& r : incoming) ekiden::post(network, [r, &pool] { pool.post([r] { serve(r); }); });
    open.reset(); // no more requests
    reader.join();
    pool.join();
    // end
}

void thread_per_request(const requests& incoming) {
    // model: std-thread-per-request
    std::vector<std::thread> threads;
    for (const request& r : incoming) threads.emplace_back([r] { serve(r); });
    for (std::thread& thread : threads) thread.join();
    // end
}

void async_per_request(const requests& incoming) {
    // model: std-async
    std::vector<std::future<void>> running; // the destructor of each waits
    for (const request& r : incoming) running.push_back(std::async(std::launch::async, [r] { serve(r); }));
    for (std::future<void>& one : running) one.get();
    // end
}

#ifdef HAS_ASIO
void asio_strands(const requests& incoming) {
    // model: asio-strand-per-key
    asio::thread_pool pool;
    using strand = asio::strand<asio::thread_pool::executor_type>;
    std::map<std::string, strand> strands;
    for (const request& r : incoming) {
        const auto found = strands.try_emplace(r.key, pool.get_executor()).first;
        asio::post(found->second, [r] { serve(r); });
    }
    pool.join();
    // end
}

void asio_context_per_thread(const requests& incoming) {
    // model: asio-context-per-thread
    std::deque<asio::thread_pool> contexts;
    for (int i = 0; i < 2; ++i) contexts.emplace_back(1); // with one thread each
    for (const request& r : incoming)
        asio::post(contexts[std::hash<std::string>{}(r.key) % contexts.size()], [r] { serve(r); });
    for (asio::thread_pool& context : contexts) context.join();
    // end
}

void asio_single_consumer(const requests& incoming) {
    // model: asio-single-consumer
    asio::io_context context(1);
    auto open = asio::make_work_guard(context);
    std::thread consumer([&context] { context.run(); });
    for (const request& r : incoming) asio::post(context, [r] { serve(r); });
    open.reset(); // no more requests
    consumer.join();
    // end
}
#endif

void check(const char* name, bool needs_order, const std::function<void(const requests&)>& model) {
    requests incoming;
    for (int i = 0; i < each; ++i)
        for (const std::string& key : keys) incoming.push_back({key, i});
    book.served.clear();
    book.is_in_order = true;
    model(incoming);
    for (const std::string& key : keys)
        if (book.served[key] != each || (needs_order && !book.is_in_order)) {
            std::printf("%s: wrong\n", name);
            std::exit(1);
        }
    std::printf("%s: all served%s\n", name, needs_order ? ", each key in order" : "");
}

} // namespace

int main() {
    check("lanes", true, lanes);
    check("lanes on an elastic pool", true, elastic_lanes);
    check("strand per key", true, strands);
    check("context per thread", true, context_per_thread);
    check("one thread", true, single_consumer);
    check("one FIFO lock", true, fifo_lock);
    check("mutex per key", false, mutex_per_key);
    check("pool", false, pool_of_tasks);
    check("elastic pool", false, elastic_pool);
    check("shared context", false, shared_context);
    check("half-sync", false, half_sync);
    check("thread per request", false, thread_per_request);
    check("std::async", false, async_per_request);
#ifdef HAS_ASIO
    check("Asio, strand per key", true, asio_strands);
    check("Asio, context per thread", true, asio_context_per_thread);
    check("Asio, one thread", true, asio_single_consumer);
#endif
}
