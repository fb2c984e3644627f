// Methods of .NET by name, and their stacks: of code that is compiled while the program runs, in
// two tiers, and of the framework as it was compiled before.
"use strict";

const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { checkDotnet, checkNames } = require("../dotnet/dotnet_frames");
const { nodeAgent } = require("./lib/daemon");

const script = path.join(__dirname, "../dotnet/runtimes.sh");
const runtimes = execFileSync(script, { encoding: "utf8" }).trim();
const runtime = (release) => path.join(runtimes, release);

test("stacks of .NET 9 are whole while methods are compiled, and compiled again", async () => {
  await checkDotnet(nodeAgent, runtime("9.0.1"), {});
});

test("so are those through assemblies that were compiled before", async () => {
  await checkDotnet(nodeAgent, runtime("9.0.1"), { DOTNET_TieredCompilation: "0" });
});

test("so are those of .NET 10, in a program that is one file", async () => {
  await checkDotnet(nodeAgent, runtime("10.0.9"), {});
});

test("methods have the names that .NET itself gives them", async () => {
  const check = path.join(path.dirname(nodeAgent), "test/dotnet/check_dotnet_frames");
  await checkNames(check, runtime("9.0.1"));
});
