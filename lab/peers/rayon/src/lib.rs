//! Peer: rayon, and plain Rust in one thread beside it: another language's compiler and library are part of what a row
//! says. The workloads of fork-join and parallel-for in Rust, so that its compiler sees through them as it
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

/// The sum of the leaves from `first` on, of which there are `size`; ten children each.
fn skynet(first: i64, size: i64) -> i64 {
    if size == 1 {
        return first;
    }
    skynet_children(first, size / 10, 0, 10)
}

fn skynet_children(first: i64, part: i64, from: i64, to: i64) -> i64 {
    if to - from == 1 {
        return skynet(first + from * part, part);
    }
    let middle = (from + to) / 2;
    let (a, b) = join(|| skynet_children(first, part, from, middle), || skynet_children(first, part, middle, to));
    a + b
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_skynet(pool: *mut ThreadPool, size: i64) -> i64 {
    (*pool).install(|| skynet(0, size))
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

fn serial_fib(n: i64) -> i64 {
    if n < 2 {
        n
    } else {
        serial_fib(n - 1) + serial_fib(n - 2)
    }
}

fn serial_lopsided(height: i64) -> i64 {
    if height < 2 {
        1
    } else {
        serial_lopsided(height - 1) + serial_lopsided(height / 8)
    }
}

fn serial_queens(b: Board, mut open: u32) -> i64 {
    if open == 0 {
        return i64::from(b.columns == b.full);
    }
    let mut sum = 0;
    while open != 0 {
        let first = open & open.wrapping_neg();
        open &= !first;
        let next = Board {
            full: b.full,
            columns: b.columns | first,
            left: ((b.left | first) << 1) & b.full,
            right: (b.right | first) >> 1,
        };
        sum += serial_queens(next, next.full & !(next.columns | next.left | next.right));
    }
    sum
}

fn serial_skynet(first: i64, size: i64) -> i64 {
    if size == 1 {
        return first;
    }
    (0..10).map(|i| serial_skynet(first + i * (size / 10), size / 10)).sum()
}

#[no_mangle]
pub extern "C" fn lab_rust_fib(n: i64) -> i64 {
    serial_fib(n)
}

#[no_mangle]
pub extern "C" fn lab_rust_lopsided(height: i64) -> i64 {
    serial_lopsided(height)
}

#[no_mangle]
pub extern "C" fn lab_rust_queens(n: i64) -> i64 {
    let full = (1u32 << n) - 1;
    serial_queens(Board { full, columns: 0, left: 0, right: 0 }, full)
}

#[no_mangle]
pub extern "C" fn lab_rust_skynet(size: i64) -> i64 {
    serial_skynet(0, size)
}

/// # Safety
/// `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rust_light(at: *mut f32, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    values.iter_mut().enumerate().for_each(|(i, value)| *value = (*value + i as f32).sqrt());
}

/// # Safety
/// `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rust_skewed(at: *mut f32, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    values.iter_mut().enumerate().for_each(|(i, value)| {
        for _ in 0..i / 8 {
            *value = *value * 0.999 + 0.5;
        }
    });
}

#[no_mangle]
pub extern "C" fn lab_rust_harmonic(n: usize) -> f64 {
    (0..n).map(|i| 1.0 / (i + 1) as f64).sum()
}

/// # Safety
/// `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rust_sort(at: *mut u32, n: usize) {
    std::slice::from_raw_parts_mut(at, n).sort_unstable();
}
