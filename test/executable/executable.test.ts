/**
 * The executable, built from these sources and run alone: it works without Node, its surroundings
 * cannot change it, and the files for other platforms have the right content.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { after, before, describe, it } from 'node:test'
import { ROOT, exec } from '../e2e/program.ts'
import { isInstalled } from '../installed.ts'
import { TEST_LIMIT_MS } from '../limit.ts'
import { noSession } from '../keychain/session.ts'
import { inSession } from './session.ts'
import { mainJob, signingIn, speaking } from './main-job.ts'
import { noDebugger, noOptions, plantedAddon, plantedModules } from './surroundings.ts'
import { newStage } from './stage.ts'

const MOST_BYTES = 115_500_000
const EMULATOR = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'] as const

const LEVEL = { [constants.ZSTD_c_compressionLevel]: 19 }

/** Returns the keychain addon that the build used. */
function addonOf(platform: string): Buffer {
  const { version } = JSON.parse(
    readFileSync(join(ROOT, 'node_modules/@napi-rs/keyring/package.json'), 'utf8'),
  ) as { version: string }
  const folders = [
    join(ROOT, `node_modules/@napi-rs/keyring-${platform}`),
    join(ROOT, `node_modules/.cache/countersignd/napi-rs-keyring-${platform}-${version}`),
  ]
  const folder = folders.find((path) => existsSync(path)) ?? assert.fail(platform)
  return readFileSync(join(folder, `keyring.${platform}.node`))
}

/**
 * By name: the first bytes of the file (ELF and PE, with the number of the processor), and the
 * addon inside.
 */
const FORMATS: [name: string, is: (bytes: Buffer) => boolean, addon: string][] = [
  [
    'countersignd-linux-x64',
    (bytes) => bytes.subarray(0, 4).equals(Buffer.from('\x7fELF')) && bytes.readUInt16LE(18) === 62,
    'linux-x64-gnu',
  ],
  [
    'countersignd-linux-arm64',
    (bytes) =>
      bytes.subarray(0, 4).equals(Buffer.from('\x7fELF')) && bytes.readUInt16LE(18) === 183,
    'linux-arm64-gnu',
  ],
  [
    'countersignd-win-x64.exe',
    (bytes) => {
      const pe = bytes.readUInt32LE(0x3c)
      const isPe = bytes.subarray(pe, pe + 4).equals(Buffer.from('PE\0\0'))
      return (
        bytes.subarray(0, 2).equals(Buffer.from('MZ')) &&
        isPe &&
        bytes.readUInt16LE(pe + 4) === 0x8664
      )
    },
    'win32-x64-msvc',
  ],
]

/** A component of a bill of materials, with what is inside it. */
interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly components?: readonly Component[]
}

const nameOf = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`)
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const here = `${process.platform}-${process.arch}`
const skip = here === 'linux-x64' ? false : `the files are built on linux-x64; this is ${here}`

describe('the executable', { skip }, () => {
  /** A folder to build in, with everything of the project except the build’s output. */
  const place = mkdtempSync(join(tmpdir(), 'countersign-build-'))
  const built = (name: string) => join(place, 'dist/release', name)
  const x64 = built('countersignd-linux-x64')
  const run = async (script: string) => {
    const words = `cd '${place}' && exec '${process.execPath}' ${script}`
    const env = { ...process.env, NODE_V8_COVERAGE: undefined }
    return exec('/bin/sh', ['-c', words], { env })
  }
  let output = ''
  /**
   * The addons as the executables contain them: one program compresses equal input to equal
   * bytes.
   */
  const compressed = new Map<string, Buffer>()

  before(async () => {
    for (const name of readdirSync(ROOT))
      if ((!name.startsWith('.') || name === '.git') && name !== 'dist')
        symlinkSync(join(ROOT, name), join(place, name))
    const { code, stdout, stderr } = await run(
      'build/release/main.mjs --untagged executables bills sums',
    )
    assert.equal(code, 0, stderr)
    output = stdout
    for (const [, , addon] of FORMATS)
      compressed.set(addon, await promisify(zstdCompress)(addonOf(addon), { params: LEVEL }))
  })
  after(() => rmSync(place, { recursive: true, force: true }))

  it('does its main job alone in a folder, as a user without rights, without Node', async (t) =>
    mainJob(newStage(t, x64)))

  it('can be the account server that a person signs in to', async (t) => {
    const server = newStage(t, x64)
    const serving = await server.serve(['server'])
    const person = newStage(t, x64, { env: { SVC_BACKEND_URL: serving.accountAddress } })
    await signingIn(serving, server, person)
    assert.equal(await serving.end(), 0)
  })

  it('speaks the protocol of tools over its streams', async (t) => speaking(t, x64))

  it('checks itself: doctor finds nothing wrong', async (t) => {
    const stage = newStage(t, x64)
    const daemon = await stage.serve()
    const { code, out, err } = await stage.run(['doctor'])
    assert.equal(code, 0, out + err)
    assert.equal(await daemon.end(), 0)
  })

  it(
    'keeps its secrets in the system keychain, and reports if that is missing',
    { skip: noSession },
    (t) => inSession(t, x64),
  )

  it('ignores NODE_OPTIONS', async (t) => noOptions(t, x64))
  it('opens no debugger at a signal', async (t) => noDebugger(t, x64))
  it('loads no module beside it', async (t) => plantedModules(t, x64))
  it('loads no addon from a world-writable folder', async (t) => plantedAddon(t, x64))

  it(
    'works the same on an ARM processor',
    {
      skip:
        isInstalled(EMULATOR[0]) && existsSync(EMULATOR[2]) ? false : `no ${EMULATOR.join(' ')}`,
      // The emulator takes ten times as long.
      timeout: 3 * TEST_LIMIT_MS,
    },
    async (t) => mainJob(newStage(t, built('countersignd-linux-arm64'), { emulator: EMULATOR })),
  )

  for (const [name, is, addon] of FORMATS)
    it(`${name} has the format of its platform, its own addon, and a limited size`, async () => {
      const bytes = readFileSync(built(name))
      assert(is(bytes))
      assert(bytes.length <= MOST_BYTES, `${bytes.length}`)
      const has = (one: string) => bytes.includes(compressed.get(one) as Buffer)
      assert.deepEqual(
        FORMATS.map(([, , one]) => one).filter((one) => has(one)),
        [addon],
      )
    })

  it('comes with the checksums of all files', () => {
    const sums = readFileSync(built('SHA256SUMS'), 'utf8')
    const names = readdirSync(built('.')).filter((name) => name !== 'SHA256SUMS')
    const lines = names.toSorted().map((name) => `${sha256(readFileSync(built(name)))}  ${name}\n`)
    assert.equal(sums, lines.join(''))
  })

  for (const [name, , addon] of FORMATS)
    it(`${name} comes with a bill of materials and the licences of its parts`, () => {
      const bill = JSON.parse(readFileSync(built(`${name}.cdx.json`), 'utf8')) as {
        bomFormat: string
        metadata: { component: { hashes: { content: string }[] } }
        components: Component[]
      }
      assert.equal(bill.bomFormat, 'CycloneDX')
      const [hash] = bill.metadata.component.hashes
      assert(readFileSync(built('SHA256SUMS'), 'utf8').includes(`${hash?.content}  ${name}\n`))
      const has = bill.components.map(nameOf)
      const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
        dependencies: Record<string, string>
      }
      for (const one of [...Object.keys(dependencies), '@scalar/api-reference'])
        if (one !== '@napi-rs/keyring') assert(has.includes(one), one)
      const ofPlatform = has.filter((one) => /^node-|^@napi-rs\/keyring-/.test(one))
      const node = name.replace('countersignd', 'node').replace('.exe', '')
      assert.deepEqual(ofPlatform, [`@napi-rs/keyring-${addon}`, node])
      const inside = (outer: string) =>
        bill.components.find((one) => nameOf(one) === outer)?.components ?? []
      assert(inside(node).some(({ name: part }) => part === 'openssl'))
      assert(inside(`@napi-rs/keyring-${addon}`).some(({ name: part }) => part === 'keyring-core'))
      const reference = inside('@scalar/api-reference')
      for (const one of ['vue', '@codemirror/view', 'highlight.js', 'tailwindcss'])
        assert(reference.map(nameOf).includes(one), one)
      const licences = readFileSync(built(`${name}.licenses.txt`), 'utf8')
      for (const one of [...bill.components, ...reference])
        assert(licences.includes(`${nameOf(one)} ${one.version} (`), nameOf(one))
      assert(licences.includes('Node.js is licensed for use as follows'))
    })

  it('reports that macOS executables need a Mac', () => {
    assert.match(output, /darwin-arm64: not built here, a Mac has to sign it/)
    assert(!readdirSync(built('.')).some((name) => name.includes('darwin')))
  })

  it('contains the compiled code that another build makes, and no folder of the build', async () => {
    const again = join(place, 'again')
    const script = `
      const { compiled } = await import('./build/release/compiled.mjs')
      const { mkdir, writeFile } = await import('node:fs/promises')
      for (const [name, bytes] of Object.entries(await compiled())) {
        await mkdir('again/lib', { recursive: true })
        await writeFile('again/' + name, bytes)
      }`
    const { code, stderr } = await run(`--input-type=module --eval "${script}"`)
    assert.equal(code, 0, stderr)
    const bytes = readFileSync(x64)
    const names = ['program.cjs', ...readdirSync(join(again, 'lib')).map((name) => `lib/${name}`)]
    assert(names.length > 1)
    for (const name of names) assert(bytes.includes(readFileSync(join(again, name))), name)
    for (const [name] of FORMATS) assert(!readFileSync(built(name)).includes(place), name)
  })

  it('has a reproducible bundle, byte for byte', async () => {
    const PARTS = ['countersignd.cjs', 'program.cjs', 'handbook.json', 'lib', 'pages']
    const sums = () =>
      PARTS.flatMap((part) => {
        const path = join(place, 'dist', part)
        const files = statSync(path).isDirectory()
          ? // Code caches are written by runs, not by the bundler.
            readdirSync(path)
              .filter((name) => !name.endsWith('.cache'))
              .map((name) => join(path, name))
          : [path]
        return files.map((file) => [file, sha256(readFileSync(file))])
      })
    const first = sums()
    for (const part of PARTS) rmSync(join(place, 'dist', part), { recursive: true })
    assert.equal((await run('build.mjs')).code, 0)
    assert.deepEqual(sums(), first)
  })
})
