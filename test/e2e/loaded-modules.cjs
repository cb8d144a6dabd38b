/**
 * Preloaded into a program: writes what it has loaded to standard error, as one JSON line when it
 * has sent its first answer, and another when it ends. `scripts` are the files of JavaScript by
 * name, with their bytes; `builtins` are the modules of Node.
 */
const fs = require('node:fs')
const { Server } = require('node:http')
const path = require('node:path')

const scripts = {}
fs.readFileSync = new Proxy(fs.readFileSync, {
  apply(read, self, [file, ...rest]) {
    const content = Reflect.apply(read, self, [file, ...rest])
    if (/\.c?js$/.test(String(file))) scripts[path.basename(file)] = content.length
    return content
  },
})

const report = () => {
  const builtins = process.moduleLoadList.flatMap((name) =>
    name.startsWith('NativeModule ') ? [name.slice('NativeModule '.length)] : [],
  )
  fs.writeSync(2, `${JSON.stringify({ scripts, builtins })}\n`)
}
/** How much later the work begins that the program does by itself, in milliseconds. */
const LATER_MS = 120_000
let hasAnswered = false
// On a slow machine, the first sync would begin before the first answer.
globalThis.setTimeout = new Proxy(setTimeout, {
  apply: (set, self, [act, ms, ...rest]) =>
    Reflect.apply(set, self, [act, hasAnswered ? ms : ms + LATER_MS, ...rest]),
})
const servers = Server.prototype
servers.emit = new Proxy(Reflect.get(servers, 'emit'), {
  apply(emit, server, [name, ...rest]) {
    if (name === 'request' && !hasAnswered) {
      hasAnswered = true
      rest[1].once('finish', report)
    }
    return Reflect.apply(emit, server, [name, ...rest])
  },
})
process.on('exit', report)
