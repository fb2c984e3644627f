// Computes in known chains of calls, an ES module. v8_frames.js knows them by line.
import { isMainThread, Worker } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

function burn(n) {
  let x = 0;
  for (let i = 0; i < n; i++)
    x = (x * 31 + i) % 1000003;
  return x;
}
class Shop {
  pay(n) {
    return burn(n);
  }
  total(n) {
    return [n].map((v) => this.pay(v));
  }
  static own(n) {
    return burn(n);
  }
}
const tools = { tool(n) { return burn(n); } };
function deep(k, n) {
  return k === 0
    ? burn(n)
    : deep(k - 1, n) + 1;
}
function small(a) {
  return burn(a) + 1;
}
function inlines(n) {
  let s = 0;
  for (let i = 0; i < 100; i++)
    s += small(n);
  return s;
}
async function later(n) {
  await null;
  return burn(n);
}
function* generated(n) {
  yield burn(n);
}
function counter() {
  let count = 0;
  return (n) => {
    count += burn(n);
    return count;
  };
}
const counted = counter();
const N = 100000;

async function main() {
  for (;;) {
    new Shop().total(N);
    Shop.own(N);
    tools.tool(N);
    deep(50, N);
    inlines(N / 100);
    await later(N);
    for (const one of generated(N)) void one;
    counted(N);
    [2, 1].sort((a, b) => burn(N) * 0 + a - b);
    'x'.repeat(1000).replace(/x+y/g, '');
  }
}
if (isMainThread) new Worker(fileURLToPath(import.meta.url));
main();
