/**
 * Rewrites the V8 code caches in a folder. V8 numbers functions in the order in which it compiles
 * them, and the caches of a daemon contain these numbers. When V8 reads a cache, it numbers the
 * functions again, in their order in the cache. The arguments are the folder, and the names of the
 * scripts, as their files in `dist/` and their caches in the folder are named.
 */
const { readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { Script } = require('node:vm')

const [, , folder, ...names] = process.argv
for (const name of names) {
  const file = path.join(folder, name)
  const script = new Script(readFileSync(path.join('dist', name), 'latin1'), {
    filename: name,
    cachedData: readFileSync(file),
  })
  if (script.cachedDataRejected) throw new Error(`V8 rejects the code cache of ${name}.`)
  writeFileSync(file, script.createCachedData())
}
