/**
 * Describes the contents of the executables: a bill of materials, and the licences to distribute
 * with them.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderOf, locked } from '../packages.mjs'
import { executableName, targetsHere } from './executables.mjs'

const LICENCE = /^(licen[cs]e|copying|notice|third[-_]party)/i

/** Returns the names of the packages with files in a bundle. */
const packagesIn = (inputs) =>
  new Set(
    inputs.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.slice(1) ?? []),
  )

/** The text of the licence that a package names without including a file. */
const MIT = (author) => `MIT License

Copyright (c) ${author}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

/**
 * Whether a package contains Node. Vulnerability scanners identify Node by its CPE, since it is
 * no npm package.
 */
const isNode = (name) => /^node-[a-z]+-[a-z0-9]+$/.test(name)
const CPE = (version) => `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`

/** Returns a component of CycloneDX 1.6, from the lock file. */
function component(name) {
  const { version, license, integrity } = locked(name)
  const [group, base] = name.startsWith('@') ? name.split('/') : [undefined, name]
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name: base,
    version,
    purl,
    ...(isNode(name) ? { cpe: CPE(version) } : {}),
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    hashes: [
      {
        alg: 'SHA-512',
        content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
      },
    ],
  }
}

/**
 * Returns the bill of materials as JSON. It has no serial number and no time, so that one commit
 * has one bill.
 * @param {{name: string, version: string, license: string}} program the content of package.json
 * @param {Iterable<string>} names of packages
 */
function billOf({ name, version, license }, names) {
  const root = `pkg:generic/${name}@${version}`
  const components = [...names].toSorted().map(component)
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

/** Returns the licence text for a package that lacks the file. */
async function termsOf(name, folder) {
  if (isNode(name))
    return 'The terms of Node are those above or below: its licence is one for all platforms.\n'
  const { author, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  if (license !== 'MIT') throw new Error(`${name} has no file with its licence, ${license}.`)
  const who = typeof author === 'string' ? author : (author?.name ?? `the authors of ${name}`)
  return MIT(who)
}

/**
 * Returns the texts of the licences, this program's own first, one after the other.
 * @param {Iterable<[name: string, folder: string]>} packages
 */
async function licencesOf(packages) {
  const texts = [await readFile('LICENSE', 'utf8'), await readFile('NOTICE', 'utf8')]
  for (const [name, folder] of packages) {
    const files = (await readdir(folder)).filter((file) => LICENCE.test(file)).toSorted()
    const { version, license } = locked(name)
    texts.push(`${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n`)
    for (const file of files) texts.push(await readFile(join(folder, file), 'utf8'))
    if (files.length === 0) texts.push(await termsOf(name, folder))
  }
  return `${texts.join('\n')}\n`
}

/**
 * Writes the bill of materials and the licences of each executable beside it.
 * @param {object} release
 * @param {object} release.program the content of package.json
 * @param {string[]} release.bundledFiles the files in the bundle
 * @param {Record<string, string>} release.executables their paths by target
 */
export async function writeBills({ program, bundledFiles, executables, output }) {
  const bundled = [...packagesIn(bundledFiles), '@scalar/api-reference']
  for (const target of Object.keys(executables)) {
    const { node, addon } = targetsHere()[target]
    const native = [...(node === null ? [] : [node]), `@napi-rs/keyring-${addon}`]
    const names = [...new Set([...bundled, ...native])].toSorted((a, b) => (a < b ? -1 : 1))
    const path = join(output, executableName(target))
    await writeFile(`${path}.cdx.json`, billOf(program, names))
    const folders = await Promise.all(names.map(async (name) => [name, await folderOf(name)]))
    await writeFile(`${path}.licenses.txt`, await licencesOf(folders))
  }
}
