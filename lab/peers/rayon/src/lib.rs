//! Peer: rayon, and plain Rust in one thread for comparison, because the compiler and library of another language are
//! part of a row's result. The workloads of fork-join and parallel-for are written in Rust, so that its compiler
//! optimizes them as in a user's program. Each call runs one workload in the pool to its end.
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

/// Returns the sum of the `size` leaves from `first` on. Each node has ten children.
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

/// A part of a matrix: the number in `row` and `column` is at `row * stride + column`.
#[derive(Clone, Copy)]
struct Part {
    at: *mut u32,
    stride: usize,
}

// Parts that are written at the same time do not overlap.
unsafe impl Send for Part {}
unsafe impl Sync for Part {}

impl Part {
    unsafe fn quarter(self, half: usize, row: usize, column: usize) -> Part {
        Part { at: self.at.add(row * half * self.stride + column * half), stride: self.stride }
    }
}

unsafe fn add_block(c: Part, a: Part, b: Part, n: usize) {
    for i in 0..n {
        for k in 0..n {
            let factor = *a.at.add(i * a.stride + k);
            let to = std::slice::from_raw_parts_mut(c.at.add(i * c.stride), n);
            let from = std::slice::from_raw_parts(b.at.add(k * b.stride), n);
            for (t, f) in to.iter_mut().zip(from) {
                *t = t.wrapping_add(factor.wrapping_mul(*f));
            }
        }
    }
}

/// c += a * b
unsafe fn add_product(c: Part, a: Part, b: Part, n: usize, in_parallel: bool) {
    if n <= 32 {
        return add_block(c, a, b, n);
    }
    let half = n / 2;
    for k in 0..2 {
        let one = |row, column| {
            add_product(
                c.quarter(half, row, column),
                a.quarter(half, row, k),
                b.quarter(half, k, column),
                half,
                in_parallel,
            )
        };
        if in_parallel {
            join(|| join(|| one(0, 0), || one(0, 1)), || join(|| one(1, 0), || one(1, 1)));
        } else {
            one(0, 0);
            one(0, 1);
            one(1, 0);
            one(1, 1);
        }
    }
}

struct Matrices {
    a: Vec<u32>,
    b: Vec<u32>,
    product: Vec<u32>,
}

// Created only once, so that this is not measured each time.
static MATRICES: std::sync::Mutex<Matrices> =
    std::sync::Mutex::new(Matrices { a: Vec::new(), b: Vec::new(), product: Vec::new() });

fn matmul(pool: Option<&ThreadPool>, n: usize) -> i64 {
    let mut guard = MATRICES.lock().expect("nobody panics");
    let m = &mut *guard;
    if m.a.len() != n * n {
        m.a = (0..n * n).map(|i| (i as u32).wrapping_mul(7)).collect();
        m.b = (0..n * n).map(|i| (i as u32).wrapping_mul(5).wrapping_add(1)).collect();
        m.product = vec![0; n * n];
    }
    m.product.fill(0);
    let part = |of: &mut Vec<u32>| Part { at: of.as_mut_ptr(), stride: n };
    let (c, a, b) = (part(&mut m.product), part(&mut m.a), part(&mut m.b));
    let whole = move |in_parallel| {
        let (c, a, b) = (c, a, b);
        unsafe { add_product(c, a, b, n, in_parallel) }
    };
    match pool {
        Some(pool) => pool.install(|| whole(true)),
        None => whole(false),
    }
    m.product.iter().fold(0u64, |sum, one| sum.wrapping_mul(31).wrapping_add(u64::from(*one))) as i64
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_matmul(pool: *mut ThreadPool, n: i64) -> i64 {
    matmul(Some(&*pool), n as usize)
}

#[no_mangle]
pub extern "C" fn lab_rust_matmul(n: i64) -> i64 {
    matmul(None, n as usize)
}

extern "C" {
    fn lab_turn(turns: u64, seed: u64) -> u64;
}

const OUTER: usize = 64;
const INNER: usize = 200;

fn nested_call(turns: i64, number: usize) -> i64 {
    (unsafe { lab_turn(turns as u64, number as u64) } >> 16) as i64
}

/// # Safety
/// `pool` comes from `lab_rayon_start`.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_nested(pool: *mut ThreadPool, turns: i64) -> i64 {
    let mut sums = vec![0i64; OUTER * INNER];
    (*pool).install(|| {
        sums.par_chunks_mut(INNER).enumerate().for_each(|(i, row)| {
            row.par_iter_mut().enumerate().for_each(|(k, sum)| *sum = nested_call(turns, i * INNER + k))
        })
    });
    sums.iter().sum()
}

#[no_mangle]
pub extern "C" fn lab_rust_nested(turns: i64) -> i64 {
    (0..OUTER * INNER).map(|number| nested_call(turns, number)).sum()
}

/// A record of the experiment algorithms.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Record {
    key: u32,
    place: u32,
}

/// # Safety
/// `pool` comes from `lab_rayon_start`; `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_find(pool: *mut ThreadPool, at: *const u32, n: usize, wanted: u32) -> usize {
    let values = std::slice::from_raw_parts(at, n);
    (*pool).install(|| values.par_iter().position_first(|&value| value == wanted)).unwrap_or(n)
}

/// # Safety
/// `pool` comes from `lab_rayon_start`; `at` has `n` elements.
#[no_mangle]
pub unsafe extern "C" fn lab_rayon_stable_sort(pool: *mut ThreadPool, at: *mut Record, n: usize) {
    let values = std::slice::from_raw_parts_mut(at, n);
    (*pool).install(|| values.par_sort_by_key(|record| record.key));
}
