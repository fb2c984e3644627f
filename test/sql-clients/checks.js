// What clients.test.js reads from a client in JavaScript: one line per check.
"use strict";

exports.checks = () => {
  let failed = 0;
  return {
    async check(name, body) {
      try {
        await body();
        console.log(`ok ${name}`);
      } catch (e) {
        failed = 1;
        const why = String(e && e.message).replace(/\s+/g, " ");
        console.log(`not ok ${name}: ${why}`);
      }
    },
    end() {
      process.exitCode = failed;
    },
  };
};
