// The call chains that the workloads make, from main or from the start of a thread to the function
// that works: what a true stack says of their own functions. "f*3" stands for three calls of f.
"use strict";

const plain = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `acc_plain_${n}`).join(" ");
const tiny = "acc_tiny_1 acc_tiny_2 acc_tiny_3";
const turn = "main acc_turn";
// workloads/chain.c
const chain = [
  `${turn} ${plain} acc_spin`,
  `acc_thread ${plain} acc_spin`,
  `${turn} acc_tiny ${tiny}`,
  `${turn} acc_wrapped acc_early acc_tiny_3`,
  `${turn} acc_registers acc_spin`,
  `${turn} acc_alloca acc_fill acc_spin`,
  `${turn} acc_realigned acc_fill acc_spin`,
  `${turn} acc_big_frame acc_fill acc_spin`,
  `${turn} acc_deep*101 acc_spin`,
  `${turn} acc_jump acc_last acc_never acc_spin`,
  `${turn} acc_jump acc_spin`,
  `${turn} acc_sort acc_compare acc_spin`,
  `${turn} acc_strings`,
  `${turn} acc_clock`,
  `${turn} acc_plt acc_library_add`,
  `${turn} acc_callback acc_library_call acc_called acc_spin`,
  `${turn} acc_raise acc_handler acc_handled acc_spin`,
  `${turn} acc_switch`,
  "acc_routine acc_routine_work acc_spin",
];
// The timer of acc_interrupted() may fire late, in whatever runs then.
chain.push(`${turn} acc_interrupted acc_spin`, `${turn} acc_interrupted ${tiny}`);
chain.interrupts = "acc_handler acc_handled acc_spin";
chain.interrupted = chain.filter((text) => text.startsWith(turn) || text.startsWith("acc_routine"));

// workloads/lazy.c
const lazy = ["main acc_calls acc_wait", "main acc_rest"];

// workloads/throwing.cc
const guard = "acc_guard::~acc_guard acc_spin";
const throwing = [
  `${turn} ${Array.from({ length: 13 }, () => "acc_template").join(" ")} acc_spin`,
  `acc_thread ${Array.from({ length: 6 }, () => "acc_template").join(" ")} acc_spin`,
  `${turn} acc_derived::acc_virtual acc_spin`,
  ...Array.from({ length: 11 }, (_, n) => `${turn} acc_catch acc_throw*${n + 1} ${guard}`),
  `${turn} acc_catch acc_spin`,
  `${turn} acc_sort acc_less acc_spin`,
  `${turn} acc_call acc_spin`,
];

// workloads/rusty.rs; frames of closures have names of their own
const rusty = [
  `${turn} acc_recurse*21 acc_spin`,
  "acc_thread acc_recurse*6 acc_spin",
  `${turn} acc_dynamic acc_area acc_spin`,
  `${turn} acc_generic acc_spin`,
  `${turn} acc_catch acc_panic*21`,
  `${turn} acc_catch acc_spin`,
  `${turn} acc_sort acc_spin`,
  `${turn} acc_text`,
];

// workloads/go
const going = [
  "main accTurn accRecurse*21 accSpin",
  "accRecurse*6 accSpin",
  "main accTurn accDynamic accArea accSpin",
  "main accTurn accDeferred accPanic*6",
  "main accTurn accDeferred accSpin",
  "main accTurn accHash",
  "main accTurn accSort accSpin",
  "main accTurn accAllocate",
  "main accTurn accClock",
  "main accTurn accSpin",
  "main accTurn accMore acc_c_recurse*6 acc_c_spin",
  "main accTurn accMore acc_c_back accCalledBack accCalledBack accSpin",
];

const hashing = ["digest", "cipher", "power", "curve"].map((f) => `${turn} acc_${f}`);

// workloads/borrowed.c
const borrowed = [`${turn} acc_borrow acc_borrow_1 acc_borrow_2 acc_borrow_3`];

// All beginnings of the chains, each as its functions joined by blanks: a tick may come at any
// time.
function beginnings(chains) {
  const all = new Set();
  const add = (text, before = "") => {
    let sequence = before;
    for (const word of text.split(" ")) {
      const [name, times = 1] = word.split("*");
      for (let i = 0; i < Number(times); i++) {
        sequence = sequence ? `${sequence} ${name}` : name;
        all.add(sequence);
      }
    }
  };
  for (const text of chains) add(text);
  if (chains.interrupted)
    for (const before of beginnings(chains.interrupted)) add(chains.interrupts, before);
  return all;
}

module.exports = { beginnings, chain, lazy, throwing, rusty, going, hashing, borrowed };
