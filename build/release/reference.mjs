/**
 * Renews `build/release/reference-parts.json`: the packages that are inside the script of
 * `@scalar/api-reference`, their hashes, and their licences. Run it after a change of the version
 * in `build/pinned.json`:
 *
 *   node build/release/reference.mjs
 *
 * The source map of the script names the file of each part, with its package and version. npm
 * installs these packages into a temporary folder.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { locked } from '../packages.mjs'
import { licenceTextsOf } from './licences.mjs'

const NAME = '@scalar/api-reference'
const PARTS = join(import.meta.dirname, 'reference-parts.json')

const jsonOf = async (path) => JSON.parse(await readFile(path, 'utf8'))
const npm = (folder, ...words) =>
  promisify(execFile)(
    'npm',
    [...words, '--ignore-scripts', '--legacy-peer-deps', '--loglevel=error'],
    { cwd: folder },
  )

/** Returns the packages from the registry with a file in the script, as `name@version`. */
function foreignParts({ sources, sourcesContent }) {
  const found = new Set()
  // Some parts are bundles themselves, with the paths of their files as comments.
  for (const text of [...sources, ...sourcesContent])
    for (const [, store, name] of (text ?? '').matchAll(
      /node_modules\/\.pnpm\/([^/\s]+)\/node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//g,
    )) {
      const [version] = store.slice(store.indexOf('@', 1) + 1).split(/[_(]/)
      found.add(`${name}@${version}`)
    }
  return found
}

/** Returns the names of the packages that were built together with the script. */
const ownParts = ({ sources }) =>
  new Set(
    sources.flatMap((path) => {
      const folder = /^\.\.\/\.\.\/\.\.\/([^./][^/]*)\//.exec(path)?.[1]
      return folder === undefined ? [] : [`@scalar/${folder}`]
    }),
  )

/** Returns the version of the styles' library: their first comment names it. */
function stylesPart(script) {
  const [, version] = /\/\*! tailwindcss v(\S+) /.exec(script) ?? []
  if (version === undefined) throw new Error('The script has no comment of tailwindcss.')
  return `tailwindcss@${version}`
}

const place = await mkdtemp(join(tmpdir(), 'countersignd-reference-'))
try {
  const { version, integrity } = locked(NAME)
  await writeFile(join(place, 'package.json'), '{}')
  await npm(place, 'install', `${NAME}@${version}`)
  const lock = async () => (await jsonOf(join(place, 'package-lock.json'))).packages
  const folderOf = (path) => join(place, path)
  const reference = `node_modules/${NAME}`
  if ((await lock())[reference].integrity !== integrity)
    throw new Error(`npm installed another ${NAME}@${version} than build/pinned.json has.`)
  const browser = folderOf(`${reference}/dist/browser`)
  const map = await jsonOf(join(browser, 'standalone.js.map'))
  const foreign = foreignParts(map).add(
    stylesPart(await readFile(join(browser, 'standalone.js'), 'utf8')),
  )

  // Two versions of one package may be parts, and npm may have installed a third one.
  const aliases = [...foreign].map((part, at) => [`part-${at}`, part])
  await npm(place, 'install', ...aliases.map(([alias, part]) => `${alias}@npm:${part}`))
  const installed = await lock()
  const paths = [
    ...[...ownParts(map)].map((name) => `node_modules/${name}`),
    ...aliases.map(([alias]) => `node_modules/${alias}`),
  ]

  const texts = []
  const parts = []
  for (const path of paths) {
    const { name, version, license } = await jsonOf(folderOf(`${path}/package.json`))
    const entry = installed[path]
    const own = []
    for (const text of await licenceTextsOf(name, folderOf(path))) {
      if (!texts.includes(text)) texts.push(text)
      own.push(texts.indexOf(text))
    }
    parts.push({ name, version, license, integrity: entry.integrity, texts: own })
  }
  parts.sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1))
  const content = { of: `${NAME}@${version}`, parts, texts }
  await writeFile(PARTS, `${JSON.stringify(content, null, 2)}\n`)
  process.stdout.write(`${parts.length} packages, ${texts.length} texts\n`)
} finally {
  await rm(place, { recursive: true, force: true })
}
