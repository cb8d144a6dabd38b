/**
 * Puts a program into a Node with pkg, in a process of its own: pkg changes the working folder, and
 * prints what it does. The only argument is a JSON object:
 * - platform, arch: pkg's names of the target
 * - version: Node's version
 * - node: the path of that Node for the target, which is moved
 * - main: the path of a CommonJS file
 * - seaConfig: options of Node
 * - output: the path of the executable
 * - folder: a folder for temporary files, beside the Node
 *
 * pkg downloads each Node from nodejs.org, unless it is in the cache of pkg, in the home folder.
 */
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

const given = JSON.parse(process.argv[2])
const { platform, arch, version, folder } = given

/** Fills the cache of pkg with the Node of the target, as pkg leaves it after a download. */
async function seedCache() {
  const isWindows = platform === 'win'
  const os = platform === 'macos' ? 'darwin' : platform
  const name = `node-v${version}-${os}-${arch}`
  const cache = join(folder, '.pkg-cache', 'sea')
  const node = isWindows ? join(cache, `${name}.exe`) : join(cache, name, 'bin', 'node')
  const archive = join(cache, `${name}.${isWindows ? 'zip' : 'tar.gz'}`)
  await mkdir(join(node, '..'), { recursive: true })
  await rename(given.node, node)
  // A file with this suffix marks a complete file; the archive itself is not read then.
  for (const path of [`${node}.ok`, archive, `${archive}.ok`]) await writeFile(path, '')
}

await seedCache()
const main = join(folder, basename(given.main))
await copyFile(given.main, main)
for (const name of ['HOME', 'USERPROFILE', 'TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder
const { default: sea } = createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea.js')
await sea(main, {
  targets: [{ nodeRange: `node${version}`, platform, arch, output: given.output }],
  signature: true,
  seaConfig: {
    // pkg would put the absolute path of the program into the file. It runs Node in a new folder
    // within the one for temporary files.
    main: `../${basename(main)}`,
    ...given.seaConfig,
  },
})
