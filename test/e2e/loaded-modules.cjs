/**
 * Preloaded into a program: writes the names of the modules that it has loaded to standard error, as
 * one JSON line at its first output, and another when it ends.
 */
const Module = require('node:module')
const { writeSync } = require('node:fs')

const load = Module._load
const names = []
Module._load = function (name, ...rest) {
  names.push(name)
  return load.call(this, name, ...rest)
}

const report = () => writeSync(2, `${JSON.stringify(names)}\n`)
const { stdout } = process
const write = stdout.write.bind(stdout)
stdout.write = (...rest) => {
  stdout.write = write
  report()
  return write(...rest)
}
process.on('exit', report)
