// Known call chains of Rust: closures, trait objects, generics, panics that are caught, threads:
//   rusty SECONDS
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

extern "C" {
    fn clock() -> i64; // CPU time of the process in microseconds
}

// As std::hint::black_box, for compilers that do not have that.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    let read = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    read
}

const SPINS: u32 = 200_000;
static SINK: AtomicU32 = AtomicU32::new(1);

#[inline(never)]
fn acc_spin(n: u32) {
    let mut x = SINK.load(Ordering::Relaxed) | 1;
    for _ in 0..n {
        x = black_box(x.wrapping_mul(1664525).wrapping_add(1013904223));
    }
    SINK.store(x, Ordering::Relaxed);
}

#[inline(never)]
fn acc_recurse(n: u32) -> u32 {
    if n == 0 {
        acc_spin(SPINS);
        return black_box(1);
    }
    black_box(acc_recurse(n - 1)) + 1
}

trait AccShape {
    fn acc_area(&self, n: u32) -> u32;
}
struct AccSquare(u32);
impl AccShape for AccSquare {
    #[inline(never)]
    fn acc_area(&self, n: u32) -> u32 {
        acc_spin(n);
        black_box(self.0 * n)
    }
}

#[inline(never)]
fn acc_dynamic(shape: &dyn AccShape) -> u32 {
    black_box(shape.acc_area(SPINS)) + 1
}

#[inline(never)]
fn acc_generic<T: Fn(u32) -> u32>(f: T) -> u32 {
    black_box(f(SPINS)) + 1
}

#[inline(never)]
fn acc_panic(n: u32) -> u32 {
    if n == 0 {
        std::panic::resume_unwind(Box::new(1u32));
    }
    black_box(acc_panic(n - 1)) + 1
}

#[inline(never)]
fn acc_catch() {
    for _ in 0..5 {
        let caught = std::panic::catch_unwind(|| acc_panic(20));
        assert!(caught.is_err());
    }
    acc_spin(SPINS / 4);
    black_box(());
}

#[inline(never)]
fn acc_sort() {
    let mut values: Vec<u32> = (0..300).map(|i| i * 7919 % 1009).collect();
    values.sort_by(|a, b| {
        acc_spin(100);
        black_box(a).cmp(b)
    });
    SINK.fetch_add(values[3], Ordering::Relaxed);
}

#[inline(never)]
fn acc_text() {
    for i in 0..100 {
        let text = format!("{} {:?} {:.3}", i, "words", f64::from(i) / 7.0);
        SINK.fetch_add(text.len() as u32, Ordering::Relaxed);
    }
}

#[inline(never)]
fn acc_turn() {
    black_box(acc_recurse(20));
    black_box(acc_dynamic(black_box(&AccSquare(3))));
    let extra = black_box(2);
    black_box(acc_generic(|n| {
        acc_spin(n);
        black_box(n + extra)
    }));
    acc_catch();
    acc_sort();
    acc_text();
    black_box(());
}

#[inline(never)]
fn acc_thread(ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        black_box(acc_recurse(5));
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).map_or(2.0, |s| s.parse().unwrap());
    let ended = Arc::new(AtomicBool::new(false));
    let theirs = ended.clone();
    let thread = std::thread::spawn(move || acc_thread(&theirs));
    while (unsafe { clock() } as f64) < seconds * 1e6 {
        acc_turn();
    }
    ended.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}
