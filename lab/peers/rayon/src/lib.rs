//! Peer: rayon. The workloads of fork-join and parallel-for in Rust, so that its compiler sees through them as it
//! would in a user's program; each call runs one of them to its end in the pool.
//!
//! Used by: lab/peers/rayon.hpp, which declares these functions for C++. Every pointer comes from there.

use rayon::prelude::*;
use rayon::{join, ThreadPool, ThreadPoolBuilder};

#[no_mangle]
pub extern "C" fn lab_rayon_start(workers: usize) -> *mut ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build().expect("no pool");
    Box::into_raw(Box::new(pool))
}

/// # Safety
/// `pool` comes from `lab_rayon_start`, and this is its last use.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_end(pool: *mut ThreadPool) {
    drop(Box::from_raw(pool));
}

fn fib(n: i64) -> i64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn lopsided(height: i64) -> i64 {
    if height < 2 {
        return 1;
    }
    let (a, b) = join(|| lopsided(height - 1), || lopsided(height / 8));
    a + b
}

#[derive(Clone, Copy)]
struct Board {
    full: u32,
    columns: u32,
    left: u32,
    right: u32,
}

fn queens(b: Board, open: u32) -> i64 {
    if open == 0 {
        return i64::from(b.columns == b.full);
    }
    let first = open & open.wrapping_neg();
    let below = || {
        let next = Board {
            full: b.full,
            columns: b.columns | first,
            left: ((b.left | first) << 1) & b.full,
            right: (b.right | first) >> 1,
        };
        queens(next, next.full & !(next.columns | next.left | next.right))
    };
    if open == first {
        return below();
    }
    let (with, without) = join(below, || queens(b, open & !first));
    with + without
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_fib(pool: *mut ThreadPool, n: i64) -> i64 {
    (*pool).install(|| fib(n))
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_lopsided(pool: *mut ThreadPool, height: i64) -> i64 {
    (*pool).install(|| lopsided(height))
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_queens(pool: *mut ThreadPool, n: i64) -> i64 {
    let full = (1u32 << n) - 1;
    (*pool).install(|| queens(Board { full, columns: 0, left: 0, right: 0 }, full))
}

/// # Safety
/// `pool` comes from `lab_rayon_start`; `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_light(pool: *mut ThreadPool, at: *mut f32, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    (*pool).install(|| {
        values.par_iter_mut().enumerate().for_each(|(i, value)| *value = (*value + i as f32).sqrt())
    });
}

/// # Safety
/// `pool` comes from `lab_rayon_start`; `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_skewed(pool: *mut ThreadPool, at: *mut f32, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    (*pool).install(|| {
        values.par_iter_mut().enumerate().for_each(|(i, value)| {
            for _ in 0..i / 8 {
                *value = *value * 0.999 + 0.5;
            }
        })
    });
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_harmonic(pool: *mut ThreadPool, n: usize) -> f64 {
    (*pool).install(|| (0..n).into_par_iter().map(|i| 1.0 / (i + 1) as f64).sum())
}

/// # Safety
/// `pool` comes from `lab_rayon_start`; `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_sort(pool: *mut ThreadPool, at: *mut u32, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    (*pool).install(|| values.par_sort_unstable());
}
