// Answers of the JSON API as cluster-agent would give them, made up but shaped like real ones: Go,
// Python, C++, Rust, kernel, unresolved and truncated stacks. The same seed gives the same answers.

function random(seed) {
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

/** Merged stacks as nested maps; value in nanoseconds at 99 Hz. */
function growStacks(seed, samples) {
  const rnd = random(seed);
  const root = { children: new Map(), self: 0, total: 0 };
  const period = 10_101_010;
  const weight = roots.reduce((s, r) => s + r[2], 0);
  const pick = (list, skew) => list[Math.floor(Math.pow(rnd(), skew) * list.length)];
  const add = (frames, value) => {
    let at = root;
    at.total += value;
    for (const [name, file] of frames) {
      const key = `${name}\n${file}`;
      let next = at.children.get(key);
      if (!next)
        at.children.set(key, (next = { name, file, children: new Map(), self: 0, total: 0 }));
      next.total += value;
      at = next;
    }
    at.self += value;
  };
  // real programs repeat themselves: a few thousand stacks, the more common ones much more common
  const distinct = Math.min(2200, samples);
  let left = samples;
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
    add(frames, period * times);
  }
  return root;
}

/** Tree → the columns of /api/flamegraph. */
function columnsOf(root) {
  const names = ["total"];
  const files = ["", "[kernel]"];
  const ids = new Map([["total", 0]]);
  const fileIds = new Map(files.map((f, i) => [f, i]));
  const id = (list, map, text) => {
    let i = map.get(text);
    if (i === undefined) map.set(text, (i = list.push(text) - 1));
    return i;
  };
  const nodes = { name: [], file: [], depth: [], total: [], self: [] };
  const functions = new Map();
  const walk = (n, depth, open) => {
    const name = depth === 0 ? 0 : id(names, ids, n.name);
    const file = depth === 0 ? 0 : id(files, fileIds, n.file);
    nodes.name.push(name);
    nodes.file.push(file);
    nodes.depth.push(depth);
    nodes.total.push(n.total);
    nodes.self.push(n.self);
    const key = `${name} ${file}`;
    const counted = open.has(key);
    if (depth > 0) {
      const f = functions.get(key) ?? { name, file, self: 0, total: 0 };
      f.self += n.self;
      if (!counted) f.total += n.total;
      functions.set(key, f);
      open.add(key);
    }
    for (const c of [...n.children.values()].sort((a, b) =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
    ))
      walk(c, depth + 1, open);
    if (depth > 0 && !counted) open.delete(key);
  };
  walk(root, 0, new Set());
  const top = [...functions.values()]
    .sort((a, b) => b.self - a.self || b.total - a.total)
    .slice(0, 2000);
  return {
    names,
    files,
    nodes,
    functions: {
      name: top.map((f) => f.name),
      file: top.map((f) => f.file),
      self: top.map((f) => f.self),
      total: top.map((f) => f.total),
    },
  };
}

const types = [
  ["ebpf:cpu:nanoseconds", "CPU (eBPF)", "cpu", "sum", false, true],
  ["go:profile_cpu:nanoseconds", "CPU", "cpu", "sum", true, false],
  ["go:heap_inuse_space:bytes", "Memory (inuse_space)", "memory", "avg", true, false],
  ["go_runtime:heap_alloc_space:bytes", "Go Memory (alloc_space)", "memory", "sum", true, true],
  ["go:goroutine_goroutine:count", "Golang (goroutines)", "", "avg", false, false],
  ["java:lock_delay:nanoseconds", "Java Lock (delay)", "lock", "sum", true, true],
].map(([type, title, category, aggregation, featured, nodeAgent]) => ({
  type,
  title,
  category,
  aggregation,
  unit: type.slice(type.lastIndexOf(":") + 1),
  featured,
  nodeAgent,
}));

const services = [
  ["/docker/4f1d2c9ab310", 1.31],
  ["/process/burn", 0.71],
  ["/system.slice/clickhouse-server.service", 0.402],
  ["/system.slice/kubelet.service", 0.113],
  ["/kernel", 0.066],
  ["/system.slice/containerd.service", 0.031],
  ["/process/coroot-node-agent", 0.0021],
  ["/system.slice/ssh.service", 0.0004],
];

const kinds = ["cpu", "heap", "goroutine", "mutex", "block"];
const deployments = ["catalog", "checkout", "frontend", "payments", "search-indexer"];

/**
 * Pod i. Every 13th does not answer, every 17th has a wrong annotation, every 29th is new, and
 * every 31st belongs to another replica.
 */
function makeTarget(i) {
  const rnd = random(i + 1);
  const name = deployments[i % deployments.length];
  const namespace = i % 3 ? "shop" : "platform";
  const replicaSet = (0x5c9f7 + i * 7919).toString(16);
  const pod = `${name}-${replicaSet}-${(i * 104729 + 1e6).toString(36).slice(-5)}`;
  const ip = `10.42.${i >> 8}.${i & 255}`;
  const state =
    i % 31 === 30
      ? "elsewhere"
      : i % 29 === 28
        ? "pending"
        : i % 17 === 16
          ? "invalid"
          : i % 13 === 12
            ? "down"
            : "up";
  const scraped = state === "up" || state === "down";
  const since = Math.floor(rnd() * 60_000);
  const fails = (k) => state === "down" && (i % 2 === 0 || k === 0);
  return {
    namespace,
    pod,
    node: `node-${i % 7}`,
    service: `/k8s/${namespace}/${name}`,
    ip,
    state,
    problem: state === "invalid" ? 'coroot.com/profile-port: "eighty" is not a port' : "",
    endpoints:
      state === "invalid" || state === "elsewhere"
        ? []
        : kinds.map((type, k) => ({
            type,
            url: `http://${ip}:8080/debug/pprof/${type === "cpu" ? "profile?seconds=10" : type}`,
            state: !scraped ? "pending" : fails(k) ? "down" : "up",
            lastScrape: scraped ? Date.now() - since : null,
            lastDurationMs: scraped ? (type === "cpu" ? 10_004 : 3 + rnd() * 40) : 0,
            lastBytes: scraped && !fails(k) ? Math.floor(900 + rnd() * 120_000) : 0,
            lastError: fails(k) ? "connection refused" : "",
            nextScrape: Date.now() + 60_000 - since,
          })),
  };
}

/**
 * One made-up cluster. `options.samples` sets how wide the trees grow; `options.lastSeen` (ms since
 * the epoch) is when the newest profile ended; `options.more` are services, [name, cores], beside
 * the usual ones.
 */
export function createFixture(options = {}) {
  const samples = options.samples ?? 42_000;
  const trees = new Map();
  const treeOf = (service) => {
    if (!trees.has(service))
      trees.set(service, columnsOf(growStacks(service.length * 7919 + 3, samples)));
    return trees.get(service);
  };
  const lastSeen = () => options.lastSeen ?? Date.now() - 4000;
  const covered = (from, to) => from < lastSeen() && to > lastSeen() - 7 * 86_400_000;

  const applications = ({ from, to }) => ({
    applications:
      !options.empty && covered(from, to)
        ? [...services, ...(options.more ?? [])].map(([service, cores], i) => ({
            service,
            types: i === 0 ? types.map((t) => t.type) : ["ebpf:cpu:nanoseconds"],
            lastSeen: lastSeen() - i * 700,
            cores,
          }))
        : [],
    lastSeen: options.empty ? null : lastSeen(),
  });

  const timeline = ({ from, to, points = 120, type, instance }) => {
    const stepMs = Math.max(1000, Math.round((to - from) / points));
    const startMs = Math.floor(from / stepMs) * stepMs;
    const values = [];
    const scale = type?.endsWith("bytes") ? 4e8 : type?.endsWith("count") ? 900 : 1;
    for (let t = startMs; t < to; t += stepMs) {
      const k = (t - from) / (to - from);
      const busy = k > 0.62 && k < 0.83 ? 1.15 : 0;
      const wave = 1.1 + 0.22 * Math.sin(k * 23) + 0.16 * random(Math.floor(t / stepMs))() + busy;
      values.push(
        t > lastSeen() || (k > 0.2 && k < 0.22) ? null : wave * scale * (instance ? 0.4 : 1),
      );
    }
    const unit = type?.endsWith("bytes") ? "bytes" : type?.endsWith("count") ? "count" : "cores";
    return {
      startMs,
      stepMs,
      values,
      unit,
      instances: [
        { id: "4f1d2c9ab310 · node-a", value: 1.2 * scale },
        { id: "4f1d2c9ab310 · node-b", value: 0.3 * scale },
      ],
    };
  };

  const flamegraph = ({ service, type, from, to }) => {
    const some = !options.empty && covered(from, to);
    const tree = some ? treeOf(service) : columnsOf({ children: new Map(), self: 0, total: 0 });
    return {
      service,
      type,
      unit: type.slice(type.lastIndexOf(":") + 1),
      from,
      to,
      total: tree.nodes.total[0],
      quality: some
        ? {
            samples: samples,
            truncated: Math.round(samples * 0.0003),
            lost: 12,
            lostReasons: { ring_full: 9, stack_unreadable: 3 },
          }
        : { samples: 0, truncated: 0, lost: 0, lostReasons: {} },
      ...tree,
      other: { nodes: 0, value: 0 },
      stacks: 7120,
      stacksCut: 0,
      valueCut: 0,
    };
  };

  const targets = () => ({
    now: Date.now(),
    intervalMs: 60_000,
    discovery: { synced: options.synced ?? true, problem: options.discoveryProblem ?? "" },
    ...(options.forwarding ? { forwarding: options.forwarding } : {}),
    targets: Array.from({ length: options.pods ?? 40 }, (_, i) => makeTarget(i)),
  });

  return { types: () => ({ types }), targets, applications, timeline, flamegraph, options };
}
