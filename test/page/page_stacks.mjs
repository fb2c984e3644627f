// Stacks of known content for the page's fixture: Go, Python, C++, Rust, kernel, unresolved and
// truncated stacks. Every answer is computed from them, so that trees, tables, lines, callers,
// matches, labels and series agree with one another. The same seed gives the same stacks.
//
// A stack is { frames, times, before, weights }: frames are root first, `times` counts its samples
// in 15 minutes, `before` those on the older side of a comparison, and `weights` says which
// replicas took them (null: all alike).

export function random(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const libraries = {
  "[compile]": [
    "runtime.goexit",
    "runtime.main",
    "main.main",
    "cmd/compile/internal/gc.Main",
    "cmd/compile/internal/gc.compileFunctions.func3.1",
    "cmd/compile/internal/ssagen.Compile",
    "cmd/compile/internal/ssagen.buildssa",
    "cmd/compile/internal/ssa.Compile",
    "cmd/compile/internal/ssa.applyRewrite",
    "cmd/compile/internal/ssa.(*regAllocState).regalloc",
    "cmd/compile/internal/ssa.cse",
    "cmd/compile/internal/noder.LoadPackage",
    "cmd/compile/internal/noder.unified",
    "cmd/compile/internal/noder.(*pkgWriter).funcBody",
    "cmd/compile/internal/types2.(*Checker).funcBody",
    "cmd/compile/internal/types2.(*Checker).stmt",
    "runtime.mallocgc",
    "runtime.mallocgcSmallScanNoHeader",
    "runtime.gcBgMarkWorker",
    "runtime.gcDrain",
    "runtime.scanobject",
    "runtime.scanObjectsSmall",
    "runtime.tryDeferToSpanScan",
    "runtime.memmove",
    "runtime.mapaccess2_faststr",
    "cmd/internal/obj.(*Link).LookupInit",
    "cmd/internal/obj/x86.span6",
    "sort.insertionSort",
    "slices.SortFunc[go.shape.[]*cmd/compile/internal/ssa.Value]",
    "internal/runtime/maps.(*Map).getWithKeySmall",
    "encoding/json.(*decodeState).object",
    "encoding/json.checkValid",
  ],
  "[python3.11]": [
    "Py_BytesMain",
    "Py_RunMain",
    "_PyEval_EvalFrameDefault",
    "_PyFunction_Vectorcall",
    "_PyObject_Malloc",
    "_PyObject_Free",
    "PyLong_FromString",
    "_PyUnicode_JoinArray",
    "sre_ucs1_match",
    "sre_ucs1_count",
    "long_to_decimal_string_internal",
    "scan_once_unicode",
    "encoder_listencode_obj.isra.0",
    "PyList_Append",
    "list_traverse",
    "gc_collect_main",
    "PyDict_SetItem",
    "_PyDict_LoadGlobal",
    "unicode_hash",
    "PyObject_GetAttr",
  ],
  "[cc1plus]": [
    "main",
    "toplev::main(int, char**)",
    "c_parser::parse_declaration(bool)",
    "cgraph_node::expand()",
    "execute_pass_list(function*, opt_pass*)",
    "ira_color(void)",
    "std::vector<tree_node*, std::allocator<tree_node*> >::push_back(tree_node* const&)",
    "hash_table<ggc_cache_hasher<tree_node*>, false, xcallocator>::find_slot_with_hash" +
      "(tree_node* const&, unsigned int, insert_option)",
    "df_analyze()",
    "rtx_cost(rtx_def*, machine_mode, rtx_code, int, bool)",
    "et_splay(et_occ*)",
  ],
  "[indexer]": [
    "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
    "tokio::runtime::task::harness::poll_future",
    "indexer::merge::run",
    "core::slice::sort::merge_sort",
    "hashbrown::raw::RawTable<T,A>::reserve_rehash",
    "indexer::posting::encode",
    "serde_json::de::from_slice",
  ],
  "[libc.so.6]": [
    "__libc_start_main",
    "__memmove_avx512_unaligned_erms",
    "malloc",
    "_int_malloc",
    "_int_free",
    "read",
    "write",
    "clock_gettime",
    "cfree",
  ],
  "[kernel]": [
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "exc_page_fault",
    "handle_mm_fault",
    "__handle_mm_fault",
    "clear_page_erms",
    "_raw_spin_unlock_irqrestore",
    "unmap_page_range",
    "smp_call_function_many_cond",
    "__list_del_entry_valid_or_report",
    "vfs_read",
    "ksys_read",
    "ext4_file_read_iter",
    "copy_page_to_iter",
    "tcp_sendmsg",
    "native_queued_spin_lock_slowpath",
    "schedule",
    "asm_exc_page_fault",
  ],
};

const roots = [
  ["compile", "[compile]", 46],
  ["python3", "[python3.11]", 26],
  ["cc1plus", "[cc1plus]", 14],
  ["indexer", "[indexer]", 9],
  ["kworker/0:2", "[kernel]", 3],
  ["sh", "[libc.so.6]", 2],
];


/** Changes between the two sides of a comparison: tests rely on them. */
export const known = {
  appeared: "cmd/compile/internal/ssa.newPass",
  vanished: "cmd/compile/internal/ssa.oldPass",
  doubled: "cmd/compile/internal/noder.(*pkgWriter).funcBody",
  halved: "sre_ucs1_match",
  // never a frame of its own in compiled code
  inlined: "runtime.tryDeferToSpanScan",
};

const hash = (text) => {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
};

const files = ["main.go", "walk.go", "table.go"];

// what the loop of the interpreter executes is in its place, if the agent can read its names
const LOOP = "_PyEval_EvalFrameDefault";
const script = { name: "Views.checkout", file: "/srv/shop/views.py", line: 42, inlined: false };

/** A Go frame has its source file and one of four lines; others have a library and no line. */
function frameOf(name, file, rnd) {
  if ((file !== "[compile]" && !file.startsWith("/")) || name.includes("+0x"))
    return { name, file, line: 0, inlined: false };
  const h = hash(name);
  const path = name.slice(0, name.indexOf(".", name.lastIndexOf("/") + 1));
  const source = file.startsWith("/") ? file : `/usr/local/go/src/${path}/${files[h % 3]}`;
  const line = 20 + (h % 700) + [0, 0, 2, 7, 31][Math.floor(rnd() * 5)];
  return { name, file: source, line, inlined: name === known.inlined };
}

const knownStacks = (samples) => {
  const frames = (leaf) =>
    [
      ["compile", ""],
      ["runtime.main", "[compile]"],
      ["main.main", "[compile]"],
      ["cmd/compile/internal/gc.Main", "[compile]"],
      ["cmd/compile/internal/ssa.Compile", "[compile]"],
      [leaf, "[compile]"],
    ].map(([name, file]) => frameOf(name, file, () => 0));
  const n = Math.round(samples / 50);
  return [
    { frames: frames(known.appeared), times: n, before: 0, weights: [0, 3, 2] },
    { frames: frames(known.vanished), times: 0, before: 2 * n, weights: null },
  ];
};

/**
 * The stacks of a program of several processes; together `samples` samples. With `loops`,
 * functions of Python have no names.
 */
export function growStacks(seed, samples, loops = false) {
  const rnd = random(seed);
  const detail = random(seed + 1); // of lines and sides; the frames do not depend on it
  const weight = roots.reduce((s, r) => s + r[2], 0);
  const pick = (list, skew) => list[Math.floor(Math.pow(rnd(), skew) * list.length)];
  const stacks = knownStacks(samples);
  // real programs repeat themselves: a few thousand stacks, the more common ones much more common
  let left = samples - stacks[0].times;
  const distinct = Math.min(2200, left);
  for (let i = 0; i < distinct; i++) {
    let w = rnd() * weight;
    const [comm, lib] = roots.find((r) => (w -= r[2]) < 0) ?? roots[0];
    const own = libraries[lib];
    const frames = [[comm, ""]];
    if (rnd() < 0.004) frames.push(["[truncated]", ""]);
    const depth = 3 + Math.floor(Math.pow(rnd(), 2) * (lib === "[compile]" ? 34 : 16));
    let level = 0;
    for (let d = 0; d < depth; d++) {
      // neighbours in the list call one another; deeper frames vary more
      level = Math.min(own.length - 1, level + (rnd() < 0.75 ? 1 : Math.floor(rnd() * 5)));
      if (level >= own.length - 1) level = Math.floor(own.length * 0.4 * rnd());
      frames.push([own[level], lib]);
    }
    if (rnd() < 0.03)
      frames.push([
        `${lib.slice(1, -1)}+0x${(0x4000 + Math.floor(rnd() * 40) * 64).toString(16)}`,
        lib,
      ]);
    if (rnd() < 0.02) frames.push(["[unknown]", ""]);
    if (lib !== "[kernel]" && rnd() < 0.25)
      frames.push([pick(libraries["[libc.so.6]"], 1.5), "[libc.so.6]"]);
    if (rnd() < 0.2)
      for (let k = 0; k < 2 + rnd() * 5; k++)
        frames.push([libraries["[kernel]"][Math.floor(k * 2 + rnd() * 4)], "[kernel]"]);
    const share = 1 / (i + 4) / Math.log(distinct / 4);
    const times =
      i === distinct - 1
        ? left
        : Math.max(1, Math.min(left - (distinct - i), Math.round(samples * share * (0.4 + rnd()))));
    left -= times;
    const has = (name) => frames.some((f) => f[0] === name);
    const change = has(known.doubled) ? 0.5 : has(known.halved) ? 2 : 0.9 + 0.2 * detail();
    stacks.push({
      frames: frames.map(([name, file]) =>
        name === LOOP && !loops ? script : frameOf(name, file, detail),
      ),
      times,
      before: has(known.doubled) || has(known.halved) || i < 9 ? Math.round(times * change) : times,
      weights: has(known.doubled) ? [1, 3, 2] : null,
    });
  }
  return stacks;
}

/** The stacks of one large Go program: at least `nodes` nodes when they are merged. */
export function growLarge(seed, nodes, samples) {
  const rnd = random(seed);
  const verbs = ["Get", "Put", "Scan", "Merge", "encode", "decode", "walk", "flush", "run", "next"];
  const pool = Array.from({ length: 4000 }, (_, i) => {
    const p = Math.floor(i / 40);
    const type = ["Server", "Index", "Reader", "Cache", "Plan"][i % 5];
    return `example.com/shop/svc${p % 23}/pkg${p}.(*${type}).${verbs[i % 10]}${i % 40}`;
  });
  const callees = pool.map((_, i) =>
    Array.from({ length: 6 }, (_, k) => (i * 13 + k * k * 613 + 37 * k + 1) % pool.length),
  );
  const stacks = [];
  const root = new Map();
  let n = 1;
  for (let i = 0; n < nodes; i++) {
    const frames = [
      { name: "shop", file: "", line: 0, inlined: false },
      frameOf("runtime.main", "[compile]", rnd),
    ];
    let at = Math.floor(Math.pow(rnd(), 3) * 60);
    const depth = 6 + Math.floor(Math.pow(rnd(), 2) * 50);
    for (let d = 0; d < depth; d++) {
      const name = pool[at];
      const file = `/src/${name.slice(0, name.indexOf(".", 20))}/code.go`;
      frames.push(frameOf(name, file, rnd));
      at = callees[at][Math.floor(Math.pow(rnd(), 3) * 6)];
    }
    let map = root;
    for (const f of frames) {
      let next = map.get(f.name);
      if (!next) {
        map.set(f.name, (next = new Map()));
        n++;
      }
      map = next;
    }
    const times = 1 + Math.floor(samples / (i + 20) / 12);
    stacks.push({ frames, times, before: at % 7 ? times : Math.round(times * 1.4), weights: null });
  }
  return stacks;
}

/** Which share of a stack's samples each replica took; exact in sum. */
export function splitTimes(times, weights, turn) {
  const n = weights.length;
  const sum = weights.reduce((s, w) => s + w, 0);
  const out = new Array(n).fill(0);
  let before = 0;
  let w = 0;
  for (let k = 0; k < n; k++) {
    const at = (k + turn) % n; // not always the same one gets a single sample
    w += weights[at];
    const upTo = Math.round((times * w) / sum);
    out[at] = upTo - before;
    before = upTo;
  }
  return out;
}
