/** What the executables are made of: a bill of materials, and the licences, which travel with them. */
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { locked } from './packages.mjs'

const LICENCE = /^(licen[cs]e|copying|notice|third[-_]party)/i

/** Names of the packages whose files a bundle is made of. */
export const packagesIn = (inputs) =>
  new Set(
    inputs.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.slice(1) ?? []),
  )

/** A component of CycloneDX 1.6, from the lock file. */
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
 * The bill of materials as JSON. It has no serial number and no time, so that one commit has one bill.
 * @param {{name: string, version: string, license: string}} program as package.json says
 * @param {Iterable<string>} names of packages
 */
export function billOf({ name, version, license }, names) {
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

/**
 * The texts of the licences, one after the other.
 * @param {Iterable<[name: string, folder: string]>} packages
 */
export async function licencesOf(packages) {
  const texts = []
  for (const [name, folder] of packages) {
    const files = (await readdir(folder)).filter((file) => LICENCE.test(file)).toSorted()
    const { version, license } = locked(name)
    texts.push(`${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n`)
    for (const file of files) texts.push(await readFile(join(folder, file), 'utf8'))
  }
  return `${texts.join('\n')}\n`
}
