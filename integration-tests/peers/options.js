'use strict';
// A stand-in's options. One that lacks a needed one says so and ends.

const { parseArgs } = require('util');

function read(needed, others) {
  const names = Object.fromEntries(needed.map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({ options: { ...names, ...others } });
  const missing = needed.find((name) => !values[name]);
  if (missing) {
    console.error(`--${missing} is missing`);
    process.exit(2);
  }
  return values;
}

module.exports = { read };
