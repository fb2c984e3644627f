// Answers of the JSON API as cluster-agent would give them, all computed from the stacks of
// page_stacks.mjs: a total, a line, a label or a series is the same wherever it is asked for.

import {
  Refusal,
  foldedOf,
  functionOf,
  functionsOf,
  matchesOf,
  parseWhere,
  speedscopeOf,
  treeOf,
} from "./page_answers.mjs";
import { growLarge, growStacks, random, splitTimes } from "./page_stacks.mjs";
import { makeTarget } from "./page_targets.mjs";

export { known } from "./page_stacks.mjs";

const DAY = 86_400_000;

const types = [
  ["ebpf:cpu:nanoseconds", "CPU (eBPF)", "cpu", "sum", false, true, ""],
  ["go:profile_cpu:nanoseconds", "CPU", "cpu", "sum", true, false, "go"],
  ["go:heap_inuse_space:bytes", "Memory (inuse_space)", "memory", "avg", true, false, "go"],
  [
    "go_runtime:heap_alloc_space:bytes",
    "Go Memory (alloc_space)",
    "memory",
    "sum",
    true,
    true,
    "go",
  ],
  ["go:goroutine_goroutine:count", "Golang (goroutines)", "", "avg", false, false, "go"],
  ["java:lock_delay:nanoseconds", "Java Lock (delay)", "lock", "sum", true, true, "java"],
].map(([type, title, category, aggregation, featured, nodeAgent, language]) => ({
  type,
  title,
  category,
  aggregation,
  unit: type.slice(type.lastIndexOf(":") + 1),
  featured,
  nodeAgent,
  language,
}));

// of one sample
const SCALE = { nanoseconds: 10_101_010, bytes: 524_288, count: 1 };
const unitOf = (type) => type.slice(type.lastIndexOf(":") + 1);

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

/** Service i of a large cluster: deployments of 12 namespaces, and commands that ran once. */
function moreService(i) {
  const word = ["cart", "search", "mail", "stock", "price", "media", "login", "feed"][i % 8];
  if (i % 3 === 0) return [`/process/${word}-job-${(i * 7919).toString(36)}.sh`, 0.0002, true];
  const namespace = `team-${String.fromCharCode(97 + (i % 12))}`;
  const cores = Math.round(40_000 / (i + 3)) / 10_000;
  return [`/k8s/${namespace}/${word}-${i % 2 ? "api" : "worker"}-${i}`, cores, false];
}

const namespaceOf = (service) => /^\/k8s\/([^/]+)\//.exec(service)?.[1] ?? "";

/** The replicas of a service: what its samples are labelled with. */
function replicasOf(service, n) {
  const id = service.split("/").pop();
  return Array.from({ length: n }, (_, i) => {
    const node = `node-${String.fromCharCode(97 + (i % 26))}`;
    return {
      instance: `${id} · ${node}${i < 26 ? "" : i}`,
      pod: `${id}-7d9f6c5b8-${(i * 104_729 + 1e6).toString(36).slice(-5)}`,
      "host.name": node,
      version: i === 0 ? "1.4.2" : "1.5.0",
      "k8s.namespace.name": namespaceOf(service),
    };
  });
}

/**
 * One made-up cluster. Options:
 *   samples     of the first application in 15 minutes; the others have fewer, by their cores
 *   nodes       the first application is one large Go program whose tree has that many nodes
 *   replicas    instances of each application (3)
 *   maxNodes    limit of the server: larger trees are cut
 *   lastSeen    when the newest profile ended (ms); lastSeenOf: the same by type
 *   more        services, [name, cores], beside the usual ones
 *   applications  how many there are in all; made-up ones fill up
 *   names       functions that the first application has besides, in stacks of one frame
 *   loops       functions of Python have no names: the loop of the interpreter is in their place
 *   releasedAt  when version 1.5.0 replaced 1.4.2 on the timeline by version (ms)
 *   oldRelease  { until }: version 1.4.2 is in no label of a range after that (ms)
 *   youngerThanADay  applications without yesterday, or true: all of them
 *   withoutBase  how many applications have nothing to be compared with
 *   completeTo  ms: agents have yet to send what is newer
 *   coveredMs   how much of a base has profiles
 *   newer       by how much answers about a function are larger than graphs: 1.1
 *   lossless    no sample was lost
 *   guessed     share of samples with a guessed step
 *   runtimes    programs by runtime and state, of every application
 *   empty       nothing was ever stored
 *   source      (file) => { text, url, why } of a file
 *   noSums      nothing is summed by function
 *   backlog     what waits for the store
 * and those of page_server.mjs: delay, faults, down, login.
 */
export function createFixture(options = {}) {
  const samples = options.samples ?? 42_000;
  const memo = new Map();
  const cached = (key, make) => {
    if (!memo.has(key)) {
      if (memo.size > 400) memo.clear();
      memo.set(key, make());
    }
    return memo.get(key);
  };
  const lastSeen = (type) => options.lastSeenOf?.[type] ?? options.lastSeen ?? Date.now() - 4000;
  const covered = ({ from, to, type }) =>
    !options.empty && from < lastSeen(type) && to > lastSeen(type) - 7 * DAY;

  const everything = () =>
    cached("services", () => {
      const some = [...services, ...(options.more ?? [])];
      for (let i = 0; some.length < (options.applications ?? 0); i++) some.push(moreService(i));
      return some;
    });
  const nReplicas = options.replicas ?? 3;
  const usual = nReplicas === 3 ? [5, 3, 2] : new Array(nReplicas).fill(1);

  const stacksOf = (service) =>
    cached(`stacks ${service}`, () => {
      const seed = service.length * 7919 + 3;
      const share = (everything().find((s) => s[0] === service)?.[1] ?? 0) / services[0][1];
      const own = Math.max(200, Math.round(samples * share));
      const grown =
        options.nodes && service === services[0][0]
          ? growLarge(seed, options.nodes, own)
          : growStacks(seed, own, options.loops);
      const split = (s, times, i) =>
        splitTimes(times, nReplicas === 3 && s.weights ? s.weights : usual, i);
      const times = Math.round(own / 10);
      const first = service === services[0][0];
      const named = (first ? (options.names ?? []) : []).map((name) => ({
        frames: [{ name, file: "[app]", line: 0, inlined: false }],
        times,
        before: times,
        weights: null,
      }));
      return [...grown, ...named].map((s, i) => ({
        frames: s.frames,
        times: split(s, s.times, i),
        before: split({ weights: null }, s.before, i),
      }));
    });

  /** Samples per stack and replica of one side, as [stack, times]. */
  const sideOf = (side, older) => {
    if (!covered(side)) return new Map();
    const matches = parseWhere(side.where ?? "");
    const replicas = replicasOf(side.service, nReplicas).map(
      (r) => (!side.instance || r.instance === side.instance) && matches(r),
    );
    const scale = (side.to - side.from) / 900_000;
    const go = side.type.startsWith("go") && !side.type.endsWith("nanoseconds");
    const found = new Map();
    for (const s of stacksOf(side.service)) {
      // of processes that are no Go programs there are no heaps
      if (go && !s.frames.slice(1).every((f) => f.line > 0)) continue;
      const times = older ? s.before : s.times;
      const sum = times.reduce((n, v, k) => n + (replicas[k] ? Math.round(v * scale) : 0), 0);
      if (sum > 0) found.set(s, sum);
    }
    return found;
  };

  const hasBase = (p) =>
    ["baseFrom", "baseTo", "baseService", "baseInstance", "baseWhere"].some(
      (name) => p[name] !== undefined,
    );
  const baseOf = (p) => ({
    service: p.baseService ?? p.service,
    type: p.type,
    from: p.baseFrom ?? p.from,
    to: p.baseTo ?? p.to,
    instance: p.baseInstance ?? p.instance,
    where: p.baseWhere ?? p.where,
  });

  /**
   * The stacks of a selection and its base: [{frames, value, base}], root first. The older of the
   * two sides has the stacks from before the change; without a base they are those after it.
   */
  const select = (p) => {
    if (!p.service || !p.type) throw new Refusal(400, "service and type are needed");
    if (!(p.from < p.to)) throw new Refusal(400, "from and to are milliseconds, from before to");
    const two = hasBase(p);
    const base = baseOf(p);
    const shift = two ? p.from + p.to - base.from - base.to : 0;
    const own = (side) => [side.service, side.type, side.from, side.to, side.instance, side.where];
    const key = JSON.stringify([own(p), two && own(base), covered(p), covered(base)]);
    return cached(key, () => {
      const values = sideOf(p, shift < 0);
      const bases = two ? sideOf(base, shift > 0) : new Map();
      const scale = SCALE[unitOf(p.type)] ?? 1;
      return [...new Set([...values.keys(), ...bases.keys()])].map((s) => ({
        frames: s.frames,
        value: (values.get(s) ?? 0) * scale,
        base: (bases.get(s) ?? 0) * scale,
      }));
    });
  };

  const sum = (stacks, side = "value") => stacks.reduce((n, s) => n + s[side], 0);
  const runtimes = options.runtimes ?? {};
  const unwindingOf = (n) => {
    const cut = Math.round(n * 0.0003);
    const guessed = Math.round(n * (options.guessed ?? 0));
    if (cut === 0) return { complete: n - guessed, guessed };
    return {
      complete: n - cut - guessed,
      guessed,
      no_unwind_info: cut,
      "no_unwind_info:libfoo.so.1": cut,
      "seen:libfoo.so.1": cut * 9,
      "seen:libc.so.6": n,
    };
  };
  const scope = options.scope ?? "selection";
  const qualityOf = (n) =>
    n === 0
      ? { scope, samples: 0, truncated: 0, lost: 0, lostReasons: {}, runtimes, unwinding: {} }
      : {
          scope,
          samples: n,
          truncated: Math.round(n * 0.0003),
          lost: options.lossless ? 0 : 12,
          lostReasons: options.lossless ? {} : { ring_full: 9, stack_unreadable: 3 },
          runtimes,
          unwinding: unwindingOf(n),
        };
  const basic = (p, stacks) => ({
    unit: unitOf(p.type),
    total: sum(stacks),
    ...(hasBase(p) && { baseTotal: sum(stacks, "base") }),
  });
  const pair = (p, f) => {
    if (hasBase(p)) return f;
    const { baseSelf: _s, baseTotal: _t, ...rest } = f;
    return rest;
  };

  const applications = ({ from, to, search = "", points, limit }) => {
    if (options.empty) return { applications: [], n: 0, lastSeen: null };
    const words = search.toLowerCase().split(/\s+/);
    const all = everything()
      .map(([service, cores, once], i) => {
        const seen = (type) => lastSeen(type) - (once ? (i % 600) * 1000 : (i % 60) * 700);
        const own = (i === 0 ? types.map((t) => t.type) : [types[0].type])
          .map((type) => ({ type, lastSeen: seen(type) }))
          .filter((t) => from < t.lastSeen && to > t.lastSeen - 7 * DAY);
        const wave = (k) => cores * (0.8 + 0.4 * random(i * 97 + k)());
        return {
          service,
          namespace: namespaceOf(service),
          types: own,
          firstSeen: once
            ? Math.max(...own.map((t) => t.lastSeen)) - 5000
            : Date.now() - 3 * DAY - (i % 9) * DAY,
          lastSeen: Math.max(...own.map((t) => t.lastSeen)),
          cores,
          ...(points && {
            spark: Array.from({ length: points }, (_, k) =>
              once && k !== i % points ? null : wave(k),
            ),
          }),
        };
      })
      .filter((a) => a.types.length > 0)
      .filter((a) => words.every((w) => a.service.toLowerCase().includes(w)))
      .sort((a, b) => b.cores - a.cores);
    return {
      applications: limit ? all.slice(0, limit) : all,
      n: all.length,
      lastSeen: Math.max(...types.map((t) => lastSeen(t.type))),
    };
  };

  const labelShares = (p, name) => {
    const values = new Map();
    for (const r of replicasOf(p.service, nReplicas)) {
      if (p.instance && r.instance !== p.instance) continue;
      const { instance, ...labels } = r;
      const value = name === "instance" ? instance : labels[name];
      if (!value || !parseWhere(p.where ?? "")(r)) continue;
      if (value === "1.4.2" && p.from >= options.oldRelease?.until) continue;
      const total = sum(select({ ...noBase(p), instance }));
      values.set(value, (values.get(value) ?? 0) + total);
    }
    return [...values].filter((v) => v[1] > 0).sort((a, b) => b[1] - a[1]);
  };
  const noBase = ({ service, type, from, to, instance, where }) => ({
    service,
    type,
    from,
    to,
    instance,
    where,
  });

  const labels = (p) => {
    const total = sum(select(noBase(p)));
    const names = Object.keys(replicasOf(p.service, 1)[0]).filter((n) => n !== "instance");
    return {
      labels: (p.label ? [p.label] : names)
        .map((name) => {
          const values = labelShares(p, name);
          return {
            name,
            n: values.length,
            values: values
              .slice(0, p.label ? 1000 : 100)
              .map(([value, v]) => ({ value, share: total > 0 ? v / total : 0 })),
          };
        })
        .filter((l) => l.n > 0),
    };
  };

  const timeline = (p) => {
    const { from, to, points = 120, type } = p;
    const stepMs = Math.max(1000, Math.round((to - from) / points));
    const startMs = Math.floor(from / stepMs) * stepMs;
    const waves = [];
    for (let t = startMs; t < to; t += stepMs) {
      const k = (t - from) / (to - from);
      const busy = k > 0.62 && k < 0.83 ? 1.15 : 0;
      const wave = 1.1 + 0.22 * Math.sin(k * 23) + 0.16 * random(Math.floor(t / stepMs))() + busy;
      waves.push(t > lastSeen(type) || (k > 0.2 && k < 0.22) ? null : wave);
    }
    const unit = unitOf(type);
    const total = sum(select(noBase(p)));
    // what is summed up over the range is the total of the flame graph
    const area = waves.reduce((n, v) => n + (v ?? 0), 0) * (stepMs / 1000);
    const scale = unit === "nanoseconds" ? 1e-9 / area : waves.length / ((area * 1000) / stepMs);
    const times = (v) => waves.map((w) => (w === null || total === 0 ? null : w * scale * v));
    const shares = (name) => labelShares(noBase(p), name);
    const mean = (v) => (unit === "nanoseconds" ? v / 1e6 / (to - from) : v);
    const releasedAt = options.releasedAt ?? options.oldRelease?.until;
    const released = (name, value, values) =>
      name === "version" && releasedAt
        ? values.map((v, i) =>
            (value === "1.5.0") === (startMs + (i + 1) * stepMs > releasedAt) ? v : null,
          )
        : values;
    const series = (name) => {
      const all = shares(name);
      const n = p.limit ?? 10;
      const list = all.slice(0, n).map(([value, v]) => ({
        name: value,
        values: released(name, value, times(v)),
      }));
      const rest = all.slice(n).reduce((n, v) => n + v[1], 0);
      return rest > 0 ? [...list, { name: "other", values: times(rest), other: true }] : list;
    };
    return {
      startMs,
      stepMs,
      values: times(total),
      completeTo: options.completeTo,
      unit: unit === "nanoseconds" ? "cores" : unit,
      instances: shares("instance").map(([id, v]) => ({ id, value: mean(v) })),
      ...(p.by && { series: series(p.by) }),
    };
  };

  const PROFILE_MS = 60_000;

  const heatmap = (p) => {
    const points = Math.min(p.points ?? 200, Math.floor((p.to - p.from) / PROFILE_MS) || 1);
    return { ...timeline({ ...p, points, by: p.by || "instance" }), profileMs: PROFILE_MS };
  };

  const columnsOf = (p) => {
    const all = functionsOf(select(p));
    const two = hasBase(p);
    const maxNodes = Math.min(p.maxNodes ?? 200_000, options.maxNodes ?? Infinity);
    const functions = all.slice(0, 50_000);
    return {
      ...treeOf(select(p), { maxNodes, zoom: p.zoom, two, functions }),
      functionsCut: all.length - functions.length,
    };
  };

  const rateOf = ({ from, to }, type, total) => {
    const covered = Math.max(0, Math.min(to, lastSeen(type)) - from);
    const { aggregation } = types.find((t) => t.type === type) ?? {};
    const rate = aggregation === "avg" ? total : covered > 0 ? (total / covered) * 1000 : 0;
    return { rate, covered: options.coveredMs ?? covered };
  };

  const flamegraph = (p) => {
    const stacks = select(p);
    const scale = SCALE[unitOf(p.type)] ?? 1;
    const side = (q, name) => ({
      service: q.service,
      from: q.from,
      to: q.to,
      total: sum(stacks, name),
      ...(hasBase(p) && rateOf(q, p.type, sum(stacks, name))),
      quality: qualityOf(sum(stacks, name) / scale),
      stacks: stacks.filter((s) => s[name] > 0).length,
    });
    return {
      ...side(p, "value"),
      type: p.type,
      unit: unitOf(p.type),
      ...columnsOf(p),
      ...(hasBase(p) && { base: side(baseOf(p), "base") }),
      stacksCut: 0,
      valueCut: 0,
    };
  };

  const functions = (p) => {
    const stacks = select(p);
    const words = (p.search ?? "").toLowerCase();
    const by = {
      total: (a, b) => b.total - a.total,
      diff: (a, b) => Math.abs(b.self - b.baseSelf) - Math.abs(a.self - a.baseSelf),
    };
    const all = functionsOf(stacks).filter((f) => f.name.toLowerCase().includes(words));
    if (by[p.sort]) all.sort(by[p.sort]);
    const list = all.slice(0, p.limit ?? 1000).map((f) => pair(p, f));
    return { ...basic(p, stacks), n: all.length, functions: list };
  };

  const oneFunction = (p) => {
    if (!p.name) throw new Refusal(400, "name is needed");
    const found = functionOf(select(p), p.name, p.file, hasBase(p));
    for (const f of [found, ...found.lines])
      for (const name of ["self", "total"]) f[name] *= options.newer ?? 1;
    return { ...basic(p, []), ...pair(p, found), lines: found.lines.map((l) => pair(p, l)) };
  };

  const matches = (p) => {
    const stacks = select(p);
    const found = matchesOf(stacks, p.search ?? "");
    if (!hasBase(p)) delete found.baseTotal;
    if (!Number(p.byShare)) return found;
    const covered = p.to - p.from;
    return { ...found, rate: (found.total / covered) * 1000, covered };
  };

  const stacks = (p) => {
    const all = select(p).slice();
    all.sort((a, b) => b.value + b.base - a.value - a.base);
    const limit = p.limit ?? 1000;
    return {
      ...basic(p, all),
      stacks: all.slice(0, limit).map((s) => ({
        value: s.value,
        ...(hasBase(p) && { base: s.base }),
        frames: s.frames.slice().reverse(),
      })),
      stacksCut: Math.max(0, all.length - limit),
      valueCut: sum(all.slice(limit)),
    };
  };

  const movers = (p) => {
    const young = options.youngerThanADay ?? []; // true: all of them
    const isYoung = (service) => young === true || young.includes(service);
    const [ownFrom, ownTo] =
      young === true ? [2 * p.from - p.to, p.from] : [p.from - DAY, p.to - DAY];
    const { from, to, baseFrom = ownFrom, baseTo = ownTo, limit = 20 } = p;
    const type = types[0].type;
    const all = everything()
      .filter(([service]) => !p.service || p.service === service)
      .slice(0, 12)
      .flatMap(([service]) =>
        functionsOf(select({ service, type, from, to, baseFrom, baseTo })).map((f) => ({
          service,
          type,
          name: f.name,
          file: f.file,
          self: f.self,
          baseSelf: f.baseSelf,
          cores: f.self / 1e6 / (to - from),
          baseCores: f.baseSelf / 1e6 / (baseTo - baseFrom),
          // five ranges ago its profiles begin
          ...(young !== true &&
            isYoung(service) && { baseFrom: 6 * from - 5 * to, baseTo: 5 * from - 4 * to }),
        })),
      )
      .filter((m) => m.self !== m.baseSelf);
    all.sort((a, b) => Math.abs(b.cores - b.baseCores) - Math.abs(a.cores - a.baseCores));
    return {
      ...{ from, to, baseFrom, baseTo, covered: to - from },
      baseCovered: options.moversCovered ?? baseTo - baseFrom,
      servicesWithoutBase: options.withoutBase ?? 0,
      cores: covered({ from, to, type }) ? 3 : null,
      baseCores: covered({ from: baseFrom, to: baseTo, type }) ? 3 : null,
      movers: all.slice(0, limit),
      services: all.length,
      servicesCut: 0,
      coresCut: 0,
    };
  };

  /** Of all applications, what they have of it now, and for three days on end. */
  const fleet = (p) => {
    if (!p.function) throw new Refusal(400, "function is missing");
    if (options.noSums) throw new Refusal(400, "there are no sums by function");
    const type = p.type || types[0].type;
    const now = Math.floor(Date.now() / 60_000) * 60_000;
    const from = Math.floor(p.from / DAY) * DAY;
    const n = Math.ceil(p.to / DAY) - from / DAY;
    const last = from + Math.max(0, n - 2) * DAY;
    const all = everything()
      .slice(0, 40)
      .flatMap(([service]) => {
        const stacks = select({ service, type, from: now - 900_000, to: now });
        const f = functionsOf(stacks).find((g) => g.name === p.function);
        const whole = sum(stacks);
        if (!f) return [];
        const value = (k) => ({ self: f.self * k, total: f.total * k, whole: whole * k });
        return [
          {
            service,
            namespace: namespaceOf(service),
            type,
            ...value(3),
            since: from + (n - 3) * DAY,
            days: Array.from({ length: n }, (_, i) => (i < n - 3 ? 0 : f.total)),
            versions: [
              { version: "1.4.2", ...value(1), firstDay: from, lastDay: last },
              { version: "1.5.0", ...value(2), firstDay: last, lastDay: null },
            ],
          },
        ];
      })
      .sort((a, b) => b.total - a.total);
    const of = (name) => all.reduce((s, a) => s + a[name], 0);
    return {
      function: p.function,
      unit: unitOf(type),
      from,
      to: from + n * DAY,
      upTo: now,
      kept: 1000,
      n: all.length,
      self: of("self"),
      total: of("total"),
      applications: all.slice(0, p.limit ?? 100),
    };
  };

  const names = (p) => {
    const now = Math.floor(Date.now() / 60_000) * 60_000;
    const some = everything()
      .slice(0, 4)
      .flatMap(([service]) =>
        functionsOf(select({ service, type: types[0].type, from: now - 900_000, to: now })),
      )
      .sort((a, b) => (b.name === p.search) - (a.name === p.search) || b.total - a.total)
      .map((f) => f.name)
      .filter((name) => name.toLowerCase().includes(p.search.toLowerCase()));
    return { functions: options.noSums ? [] : [...new Set(some)].slice(0, p.limit ?? 20) };
  };

  const targets = () => ({
    now: Date.now(),
    intervalMs: 60_000,
    discovery: { synced: options.synced ?? true, problem: options.discoveryProblem ?? "" },
    ...(options.forwarding ? { forwarding: options.forwarding } : {}),
    targets: Array.from({ length: options.pods ?? 40 }, (_, i) => makeTarget(i)),
  });

  return {
    options,
    targets,
    select, // the stacks of a selection: what a test compares the page with
    types: () => ({ types }),
    applications,
    labels,
    timeline,
    heatmap,
    flamegraph,
    functions,
    function: oneFunction,
    source: (p) => ({ file: p.file, folders: true, ...options.source?.(p.file) }),
    matches,
    stacks,
    movers,
    levels: () => ({ levels: options.levels ?? [] }),
    fleet,
    names,
    clocks: () => ({ hosts: options.clocks ?? [] }),
    backlog: () => {
      const none = { uploads: 0, bytes: 0, oldestSeconds: 0, failingSeconds: 0 };
      return { ...none, ...options.backlog };
    },
    speedscope: (p) => speedscopeOf(select(p), `${p.service} ${p.type}`, unitOf(p.type)),
    folded: (p) => foldedOf(select(p), hasBase(p)), // text
  };
}
