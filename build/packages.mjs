/**
 * Packages that `npm ci` does not install: those for other platforms, pinned by the lock file, and
 * those of which the build needs few files, pinned by `build/pinned.json`. npm fetches them, with
 * its own settings and cache.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const jsonOf = async (path) => JSON.parse(await readFile(path, 'utf8'))
const LOCK = (await jsonOf('package-lock.json')).packages
const PINNED = await jsonOf('build/pinned.json')
/** Beside the packages that npm installs, so a new clone fetches all of them again. */
const CACHE = 'node_modules/.cache/countersignd'

/** Returns the version, licence and integrity of a package, from the file that pins it. */
export function locked(name) {
  const entry = PINNED[name] ?? LOCK[`node_modules/${name}`]
  if (entry === undefined)
    throw new Error(`Neither package-lock.json nor build/pinned.json has ${name}. Add it.`)
  return entry
}

/** Returns the Subresource Integrity of a file, in npm's form. */
const integrityOf = async (file) =>
  `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`

const isThere = (path) =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * Fetches the archive of a package into an empty folder; returns its path.
 * @throws if npm cannot fetch it
 */
async function archiveOf(packageSpec, folder) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // npm's cache first, so that a machine that had the package once needs no registry. A dry run
  // of npm, within which this build may run, must fetch all the same.
  const options = ['--prefer-offline', '--no-dry-run', '--loglevel=error']
  try {
    await exec(npm, ['pack', ...options, '--pack-destination', folder, packageSpec], {
      shell: process.platform === 'win32',
    })
  } catch (error) {
    const remedy = `Build where npm reaches its registry, or run "npm cache add ${packageSpec}" there and copy npm's cache.`
    throw new Error(`npm cannot fetch ${packageSpec}. ${remedy}\n${error.stderr || error.message}`)
  }
  const [name] = await readdir(folder)
  return join(folder, name)
}

/**
 * Fetches and unpacks a package into a folder.
 * @throws if npm cannot fetch it, or its bytes do not match its pin
 */
async function unpack(name, folder) {
  const { version, integrity, files = [] } = locked(name)
  const archive = await archiveOf(`${name}@${version}`, folder)
  const sum = await integrityOf(archive)
  if (sum !== integrity)
    throw new Error(
      `npm fetched another ${name}@${version} than the one pinned: its hash is ${sum}, not ${integrity}. Check the registry that npm uses.`,
    )
  const paths = files.map((file) => `package/${file}`)
  await exec('tar', ['-xzf', archive, '-C', folder, '--strip-components=1', ...paths])
  await rm(archive)
}

/** Returns the folder of a package, fetched unless an earlier build has fetched it. */
async function fetched(name) {
  const folder = join(CACHE, `${name.replace('/', '-').replace('@', '')}-${locked(name).version}`)
  if (await isThere(folder)) return folder
  await mkdir(CACHE, { recursive: true })
  const temporary = await mkdtemp(join(CACHE, 'fetching-'))
  try {
    await unpack(name, temporary)
    // The folder has its name only when it is complete. Another build may have been faster.
    await rename(temporary, folder).catch(async (error) => {
      if (!(await isThere(folder))) throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return folder
}

async function found(name) {
  const installed = join('node_modules', name)
  return !(name in PINNED) && (await isThere(installed)) ? installed : fetched(name)
}

const folders = new Map()

/**
 * Returns the folder of a package: as installed, or fetched if it is pinned or for another
 * platform.
 */
export function folderOf(name) {
  if (!folders.has(name)) folders.set(name, found(name))
  return folders.get(name)
}
