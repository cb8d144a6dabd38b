/**
 * Packages for other platforms, which `npm ci` omits. They are fetched by name and checked
 * against the hash in the lock file.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const LOCK = JSON.parse(await readFile('package-lock.json', 'utf8')).packages
/** Beside the packages that npm installs, so a new clone fetches all of them again. */
const CACHE = 'node_modules/.cache/countersignd'

/** Returns the entry of a package in the lock file. */
export function locked(name) {
  const entry = LOCK[`node_modules/${name}`]
  if (entry === undefined) throw new Error(`package-lock.json does not know ${name}.`)
  return entry
}

/** Returns the Subresource Integrity of a file, in npm's form. */
const integrityOf = async (file) =>
  `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`

/**
 * Fetches and unpacks a package; returns its folder.
 * @param {string} name of a package in the lock file, for any platform
 * @throws if the bytes from the registry do not match the lock file
 */
async function fetched(name) {
  const { version, integrity } = locked(name)
  const folder = join(CACHE, `${name.replace('/', '-').replace('@', '')}-${version}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { stdout } = await exec(
    npm,
    ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`],
    { shell: process.platform === 'win32' },
  )
  const file = join(folder, stdout.trim().split('\n').at(-1))
  const sum = await integrityOf(file)
  if (sum !== integrity)
    throw new Error(`${name}@${version} is not what package-lock.json says: ${sum}`)
  await exec('tar', ['-xzf', file, '-C', folder, '--strip-components=1'])
  await rm(file)
  return folder
}

const isThere = (path) =>
  stat(path).then(
    () => true,
    () => false,
  )

async function found(name) {
  const installed = join('node_modules', name)
  return (await isThere(installed)) ? installed : fetched(name)
}

const folders = new Map()

/** Returns the folder of a package: as installed, or fetched if it is for another platform. */
export function folderOf(name) {
  if (!folders.has(name)) folders.set(name, found(name))
  return folders.get(name)
}
