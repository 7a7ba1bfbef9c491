// Instantiates the class templates of locks with all of their members. Compiling a header alone does not
// compile them.
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/watermark_buffer.hpp>

template class ekiden::barrier<>;
template class ekiden::basic_hybrid_mutex<7>;
template class ekiden::bounded_buffer<int>;
template class ekiden::counting_semaphore<>;
template class ekiden::counting_semaphore<1>;
template class ekiden::counting_semaphore<100'000>;
template class ekiden::rw_mutex<ekiden::rw_policy::basic>;
template class ekiden::rw_mutex<ekiden::rw_policy::fifo>;
template class ekiden::rw_mutex<ekiden::rw_policy::writer_first>;
template class ekiden::rw_mutex<ekiden::rw_policy::writer_next>;
template class ekiden::sequencer<int, int>;
template class ekiden::watermark_buffer<int>;

// Members that are templates themselves.
void use(ekiden::counting_semaphore<>& permits) {
    permits.acquire();
    (void)permits.try_acquire();
    permits.release();
}
