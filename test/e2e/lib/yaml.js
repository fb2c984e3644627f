// The npm package "yaml", for tests that are not below the folder it is installed in.
"use strict";

module.exports = require("yaml");
