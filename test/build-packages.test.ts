/**
 * The packages that the build fetches with npm: once, from the registry or the cache of npm, and
 * only with the pinned bytes.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { ROOT, exec } from './e2e/program.ts'
import { freshFolder } from './keychain/fresh-folder.ts'

const NAME = '@scope/shown'
const VERSION = '1.2.3'

/** Returns the archive of a package of three files, as a registry has it. */
function archive(t: TestContext): Buffer {
  const folder = freshFolder(t)
  mkdirSync(join(folder, 'package/dist'), { recursive: true })
  const write = (path: string, text: string) => writeFileSync(join(folder, 'package', path), text)
  write('package.json', JSON.stringify({ name: NAME, version: VERSION, license: 'MIT' }))
  write('dist/page.js', 'page')
  write('dist/other.js', 'other')
  return execFileSync('tar', ['-cz', '-C', folder, 'package'])
}

const integrityOf = (bytes: Buffer) =>
  `sha512-${createHash('sha512').update(bytes).digest('base64')}`

/** Starts a registry with the package. */
async function startRegistry(t: TestContext, bytes: Buffer) {
  const server = createServer((req, res) => {
    const tarball = `${address}/shown.tgz`
    if (req.url === '/shown.tgz') return res.end(bytes)
    const one = { name: NAME, version: VERSION, dist: { tarball, integrity: integrityOf(bytes) } }
    const tags = { latest: VERSION }
    return res.end(JSON.stringify({ name: NAME, 'dist-tags': tags, versions: { [VERSION]: one } }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  t.after(close)
  return { address, close }
}

/** Prepares a checkout with a pin of the package, and an npm with an empty cache. */
async function checkout(t: TestContext, { pinned }: { pinned?: string } = {}) {
  const bytes = archive(t)
  const registry = await startRegistry(t, bytes)
  const [place, home] = [freshFolder(t), freshFolder(t)]
  mkdirSync(join(place, 'build'))
  writeFileSync(join(place, 'package-lock.json'), '{"packages":{}}')
  const files = ['dist/page.js', 'package.json']
  const pin = { version: VERSION, license: 'MIT', integrity: pinned ?? integrityOf(bytes), files }
  writeFileSync(join(place, 'build/pinned.json'), JSON.stringify({ [NAME]: pin }))
  const script = `
    process.chdir(${JSON.stringify(place)})
    const { folderOf } = await import(${JSON.stringify(join(ROOT, 'build/packages.mjs'))})
    process.stdout.write(await folderOf(${JSON.stringify(NAME)}))`
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    npm_config_registry: registry.address,
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
  }
  return {
    place,
    registry,
    /** Asks for the package's folder in a process of its own. */
    build: (more: NodeJS.ProcessEnv = {}) =>
      exec(process.execPath, ['--input-type=module', '-e', script], {
        env: { ...env, ...more },
      }),
    /** Returns the paths of the files in a folder of the checkout. */
    filesIn: (folder: string) =>
      readdirSync(join(place, folder), { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map((one) => join(one.parentPath, one.name).slice(join(place, folder).length + 1))
        .toSorted(),
  }
}

describe('a package of which the build needs few files', () => {
  it('is fetched once; an emptied checkout gets it from the cache of npm', async (t) => {
    const { place, registry, build, filesIn } = await checkout(t)
    const first = await build()
    assert.deepEqual([first.code, first.stderr], [0, ''])
    const folder = first.stdout
    assert.deepEqual(filesIn(folder), ['dist/page.js', 'package.json'])
    assert.equal(readFileSync(join(place, folder, 'dist/page.js'), 'utf8'), 'page')

    registry.close()
    assert.equal((await build({ PATH: '' })).stdout, folder, 'without npm')
    rmSync(join(place, 'node_modules'), { recursive: true })
    const again = await build()
    assert.deepEqual([again.code, again.stderr, again.stdout], [0, '', folder])
    assert.deepEqual(filesIn(folder), ['dist/page.js', 'package.json'])
  })

  it('is fetched within a dry run of npm, too', async (t) => {
    const { build, filesIn } = await checkout(t)
    const { stdout } = await build({ npm_config_dry_run: 'true', npm_config_json: 'true' })
    assert.deepEqual(filesIn(stdout), ['dist/page.js', 'package.json'])
  })

  it('with other bytes than those pinned: the build fails and keeps nothing', async (t) => {
    const other = integrityOf(Buffer.from('other'))
    const { build, filesIn } = await checkout(t, { pinned: other })
    const { code, stderr } = await build()
    assert.notEqual(code, 0)
    assert(stderr.includes(`npm fetched another ${NAME}@${VERSION} than the one pinned`), stderr)
    assert(stderr.includes(other), stderr)
    assert.deepEqual(filesIn('node_modules'), [])
  })

  it('without a registry and not in the cache: the error names the package and the remedy', async (t) => {
    const { registry, build, filesIn } = await checkout(t)
    registry.close()
    const { code, stderr } = await build()
    assert.notEqual(code, 0)
    assert(stderr.includes(`npm cannot fetch ${NAME}@${VERSION}.`), stderr)
    assert(stderr.includes(`"npm cache add ${NAME}@${VERSION}"`), stderr)
    assert.match(stderr, /ECONNREFUSED/)
    assert.deepEqual(filesIn('node_modules'), [])
  })
})
