// The threads of C11 for ThreadSanitizer, which knows only those of POSIX. Without these functions, it
// crashes in the threads of librdkafka, and sees none of their locks. In glibc, the types of both have the
// same layout.
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <threads.h>

namespace {

struct start {
    thrd_start_t function;
    void* argument;
};
void* run(void* given) {
    const start chosen = *static_cast<start*>(given);
    std::free(given);
    return reinterpret_cast<void*>(static_cast<long>(chosen.function(chosen.argument)));
}
pthread_mutex_t* of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* of(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
int to_c11(int result) {
    switch (result) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

} // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    auto* const given = static_cast<start*>(std::malloc(sizeof(start)));
    if (given == nullptr) return thrd_nomem;
    *given = {function, argument};
    return to_c11(pthread_create(thread, nullptr, &run, given));
}
int thrd_join(thrd_t thread, int* result) {
    void* returned = nullptr;
    const int failed = pthread_join(thread, &returned);
    if (result != nullptr) *result = static_cast<int>(reinterpret_cast<long>(returned));
    return to_c11(failed);
}
int thrd_detach(thrd_t thread) { return to_c11(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int kind) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if ((kind & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    const int failed = pthread_mutex_init(of(mutex), &attributes);
    pthread_mutexattr_destroy(&attributes);
    return to_c11(failed);
}
int mtx_lock(mtx_t* mutex) { return to_c11(pthread_mutex_lock(of(mutex))); }
int mtx_trylock(mtx_t* mutex) { return to_c11(pthread_mutex_trylock(of(mutex))); }
int mtx_unlock(mtx_t* mutex) { return to_c11(pthread_mutex_unlock(of(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(of(mutex)); }

int cnd_init(cnd_t* condition) { return to_c11(pthread_cond_init(of(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return to_c11(pthread_cond_signal(of(condition))); }
int cnd_broadcast(cnd_t* condition) { return to_c11(pthread_cond_broadcast(of(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return to_c11(pthread_cond_wait(of(condition), of(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* limit) {
    return to_c11(pthread_cond_timedwait(of(condition), of(mutex), limit));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(of(condition)); }
}

// librdkafka is not compiled for ThreadSanitizer, which so cannot see its atomic counters of references.
// Reports that have librdkafka in a stack are about the memory that these counters guard.
extern "C" const char* __tsan_default_suppressions() { return "race:librdkafka.so\n"; }
