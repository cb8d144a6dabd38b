/**
 * Preloaded into a program: writes the names of the modules that it has loaded to standard error, as
 * one JSON line before each server begins to listen, and another when it ends.
 */
const Module = require('node:module')
const { writeSync } = require('node:fs')
const { Server } = require('node:net')

const load = Module._load
const names = []
Module._load = function (name, ...rest) {
  names.push(name)
  return load.call(this, name, ...rest)
}

const report = () => writeSync(2, `${JSON.stringify(names)}\n`)
const servers = Server.prototype
servers.listen = new Proxy(Reflect.get(servers, 'listen'), {
  apply(listen, server, rest) {
    report()
    return Reflect.apply(listen, server, rest)
  },
})
process.on('exit', report)
