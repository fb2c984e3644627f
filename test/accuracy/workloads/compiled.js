// Work in code that V8 compiles, and in functions of its C++ code: compiled.js SECONDS
const zlib = require("zlib");

function accSpin(n) {
  let x = 1;
  for (let i = 0; i < n; i++) x = (x * 48271) % 2147483647;
  return x;
}
function accRecurse(n) {
  return n ? accRecurse(n - 1) + 1 : accSpin(100000);
}
function accTurn() {
  accRecurse(10);
  JSON.parse(JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ i, text: `${i}` }))));
  "word-12 ".repeat(200).replace(/(\w+)-(\d+)/g, (_, a, b) => b + a);
  zlib.deflateSync(Buffer.alloc(20000, "text of no interest"));
  [...Array(200).keys()].sort((a, b) => (accSpin(20) > 0 ? b - a : 0));
}

const seconds = Number(process.argv[2]);
while (process.cpuUsage().user / 1e6 < seconds) accTurn();
