/**
 * Loaded into a daemon before its program. On a message with a folder, writes the V8 code caches of
 * the program's scripts into it: of every function that was called until then. What was called
 * depends neither on the speed of the machine nor on the time.
 */
const fs = require('node:fs')
const path = require('node:path')
const v8 = require('node:v8')
const vm = require('node:vm')

const SETTINGS = '/etc/countersign/countersignd.env'

/** A cache contains how far V8 has optimised a function, and no function that V8 has discarded. */
const FLAGS = ['turbofan', 'maglev', 'sparkplug', 'flush-bytecode']
for (const flag of FLAGS) v8.setFlagsFromString(`--no-${flag}`)

/** No timer ends before the recording does. */
const HOUR_MS = 3_600_000
for (const name of ['setTimeout', 'setInterval']) {
  const begin = globalThis[name]
  globalThis[name] = (action, _ms, ...rest) => begin(action, HOUR_MS, ...rest)
}

/** The settings of this machine's service do not apply: in place of their file, none is there. */
const ABSENT = path.join(process.env.SVC_STATE_DIR, 'absent')
for (const name of ['openSync', 'lstatSync']) {
  const call = fs[name]
  fs[name] = (file, ...rest) => call(file === SETTINGS ? ABSENT : file, ...rest)
}

const dist = path.join(process.cwd(), 'dist')
const scripts = new Map()
vm.Script = class extends vm.Script {
  constructor(text, { filename }) {
    // The cache contains the name. The executable's scripts have names without a folder.
    const name = path.relative(dist, filename).replaceAll(path.sep, '/')
    super(text, { filename: name })
    scripts.set(name, this)
  }
}

process.once('message', (folder) => {
  // V8 rejects a cache that was made under other flags.
  for (const flag of FLAGS) v8.setFlagsFromString(`--${flag}`)
  for (const [name, script] of scripts) {
    const file = path.join(folder, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, script.createCachedData())
  }
  process.disconnect()
})
process.channel.unref()
