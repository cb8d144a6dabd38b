/**
 * Builds the program as one file for each platform. It is the bundle inside its own Node, with
 * the library of the system's keychain. It loads no code from the disk, and the environment adds
 * none.
 */
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { compiled } from './compiled.mjs'
import { HERE, TARGETS, makeExecutable } from './executable.mjs'
import { folderOf, locked } from '../packages.mjs'

const zstd = promisify(zstdCompress)
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 19 }
const say = (text) => process.stdout.write(`${text}\n`)
const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** The targets that only a Mac can sign: their files do not run without a signature. */
const MAC = ['darwin-arm64', 'darwin-x64']

/** Returns the targets to build here by name: on a Mac, only its own. */
export function targetsHere() {
  if (process.platform !== 'darwin') return TARGETS
  // The registry has no Node of this version for a Mac, so the running one is used.
  return { [HERE]: { node: null, addon: HERE, strips: ['strip'] } }
}

/**
 * Checks that this process runs with the Node that the executables contain.
 * @throws if it is another one, which would compile code for itself
 */
export function checkNode() {
  for (const { node } of Object.values(targetsHere()))
    if (node !== null && locked(node).version !== process.versions.node)
      throw new Error(
        `This is Node ${process.versions.node}, and the executables contain ${locked(node).version}, which could not use code that this one compiles. Build with "npm run", which uses the Node of the packages.`,
      )
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
  return Promise.all(names.map((name) => asset(name, resolve('dist', name), folder)))
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

/** Returns the file name of a target's executable. */
export const executableName = (target) =>
  `countersignd-${target}${target.startsWith('win') ? '.exe' : ''}`

/**
 * Builds the executables of this machine.
 * @param {object} release
 * @param {Record<string, string>} release.executables their paths by target
 * @param {boolean} release.isTrial whether they may have the symbols of Node
 * @throws if they have them, and this is no trial
 */
export async function buildExecutables({ executables, isTrial }) {
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-exe-'))
  try {
    const caches = await cacheAssets(folder)
    const common = await commonAssets(folder)
    const targets = targetsHere()
    for (const [target, output] of Object.entries(executables)) {
      const of = targets[target]
      const assets = Object.fromEntries([
        ...common,
        ...(await ownAssets({ target, of, caches, folder })),
      ])
      const main = 'dist/countersignd.cjs'
      const isStripped = await makeExecutable({ target, of, main, assets, output })
      if (!isStripped && !isTrial)
        throw new Error(
          `None of ${of.strips.join(', ')} can remove the symbols of Node for ${target}, so the file would differ from that of another machine. Install binutils for it.`,
        )
      const note = isStripped
        ? ''
        : `  (with the symbols of Node: none of ${of.strips.join(', ')} is here)`
      say(`${relative('.', output)}  ${mib((await stat(output)).size)}${note}`)
    }
    for (const mac of MAC)
      if (!(mac in targets)) say(`${mac}: not built here, a Mac has to sign it: run this on one`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
