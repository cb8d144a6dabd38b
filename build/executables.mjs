/**
 * Builds the program as one file for each platform. It is the bundle inside its own Node, with
 * the library of the system's keychain. It loads no code from the disk, and the environment adds
 * none.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { billOf, licencesOf, packagesIn } from './bill.mjs'
import { compiled } from './compiled.mjs'
import { HERE, TARGETS, makeExecutable } from './executable.mjs'
import { folderOf } from './packages.mjs'

const zstd = promisify(zstdCompress)
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 19 }
const say = (text) => process.stdout.write(`${text}\n`)
const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** The targets that only a Mac can sign: their files do not run without a signature. */
const MAC = ['darwin-arm64', 'darwin-x64']

/** Returns the targets to build here: on a Mac, only its own. */
function targetsHere() {
  if (process.platform !== 'darwin') return TARGETS
  // The registry has no Node of this version for a Mac, so the running one is used.
  return { [HERE]: { node: null, addon: HERE, strips: ['strip'] } }
}

/** Read at every start, by its first sync, or already compressed. */
const AS_IT_IS = /^program\.|^lib\/(sync|kysely)\.|\.gz$/

/**
 * Returns an embedded asset of a file: [its asset name, its path]. A compressed file is
 * compressed once for all targets.
 */
async function asset(name, path, folder) {
  if (AS_IT_IS.test(name)) return [name, path]
  const compressed = join(folder, `${name.replace('/', '-')}.zst`)
  await writeFile(compressed, await zstd(await readFile(path), { params: LEVEL }))
  return [`${name}.zst`, compressed]
}

/** Returns the assets of every executable: `dist/` as it is served and loaded. */
async function commonAssets(folder) {
  const names = ['program.cjs', 'handbook.json']
  for (const part of ['lib', 'pages', 'console']) {
    const files = (await readdir(join('dist', part))).filter((name) => !/\.(map|cache)$/.test(name))
    names.push(...files.map((name) => `${part}/${name}`))
  }
  const assets = []
  for (const name of names) assets.push(await asset(name, resolve('dist', name), folder))
  return assets
}

/** Writes the code caches into a folder; returns them as assets. */
async function cacheAssets(folder) {
  const caches = Object.entries(await compiled())
  return Promise.all(
    caches.map(async ([name, bytes]) => {
      const path = join(folder, `${name.replace('/', '-')}.cache`)
      await writeFile(path, bytes)
      return [`${name}.cache`, path]
    }),
  )
}

/**
 * Returns the assets of one target: the addon, and the code caches if it is this machine's target.
 */
async function ownAssets({ target, of, caches, folder }) {
  const library = await folderOf(`@napi-rs/keyring-${of.addon}`)
  const addon = resolve(library, `keyring.${of.addon}.node`)
  return [await asset('keyring.node', addon, folder), ...(target === HERE ? caches : [])]
}

async function build(target, of, assets) {
  const output = resolve('dist', `countersignd-${target}${target.startsWith('win') ? '.exe' : ''}`)
  const isStripped = await makeExecutable({
    target,
    of,
    main: 'dist/countersignd.cjs',
    assets,
    output,
  })
  const note = isStripped
    ? ''
    : `  (with the symbols of Node: none of ${of.strips.join(', ')} is here)`
  say(`${relative('.', output)}  ${mib((await stat(output)).size)}${note}`)
  return output
}

async function sumsOf(paths) {
  const lines = []
  for (const path of paths) {
    const sum = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    lines.push(`${sum}  ${relative('dist', path)}\n`)
  }
  return lines.join('')
}

/**
 * Builds the executables of this machine into `dist/`. Adds their checksums, their bill of
 * materials and their licences.
 * @param program the content of package.json
 * @param {string[]} inputs the files in the bundle
 */
export async function buildExecutables(program, inputs) {
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-exe-'))
  try {
    const caches = await cacheAssets(folder)
    const targets = targetsHere()
    const outputs = []
    const common = await commonAssets(folder)
    for (const [target, of] of Object.entries(targets)) {
      const own = await ownAssets({ target, of, caches, folder })
      outputs.push(await build(target, of, Object.fromEntries([...common, ...own])))
    }
    for (const mac of MAC)
      if (!(mac in targets)) say(`${mac}: not built here, a Mac has to sign it: run this on one`)

    const bundled = [...packagesIn(inputs), '@scalar/api-reference']
    const native = Object.values(targets).flatMap(({ node, addon }) => [
      ...(node === null ? [] : [node]),
      `@napi-rs/keyring-${addon}`,
    ])
    const names = [...new Set([...bundled, ...native])].toSorted((a, b) => (a < b ? -1 : 1))
    const bill = resolve('dist/countersignd.cdx.json')
    await writeFile(bill, billOf(program, names))
    const licences = resolve('dist/LICENSES.txt')
    const folders = await Promise.all(names.map(async (name) => [name, await folderOf(name)]))
    await writeFile(licences, await licencesOf(folders))
    await writeFile('dist/SHA256SUMS', await sumsOf([...outputs, bill, licences]))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
