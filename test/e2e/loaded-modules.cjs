/**
 * Preloaded into a program: at its first output, it writes the names of the modules that it has
 * loaded to standard error, as one JSON line.
 */
const Module = require('node:module')

const load = Module._load
const names = []
Module._load = function (name, ...rest) {
  names.push(name)
  return load.call(this, name, ...rest)
}

const write = process.stdout.write
process.stdout.write = function (...rest) {
  process.stdout.write = write
  process.stderr.write(`${JSON.stringify(names)}\n`)
  return write.apply(this, rest)
}
