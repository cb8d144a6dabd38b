/**
 * Builds packages and an image from the executables in `dist/release`, and tests them on fresh
 * systems. It takes minutes, and needs root, debootstrap, lintian, buildah, iproute2 and a mirror
 * of Debian:
 *
 *   npm run build:exe && npm run test:packages
 *   npm run test:packages -- --base FOLDER   with a Debian that an earlier run left in this folder
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { testPackages } from './debian.ts'
import { testImage } from './image.ts'
import { installDebian } from './machine.ts'

interface Release {
  readonly version: string
  readonly time: number
  readonly executables: Readonly<Record<string, string>>
  readonly output: string
  readonly level?: number
}
type Build = (release: Release) => Promise<readonly string[]>

const built = async (file: string) =>
  (await import(new URL(`../../build/release/${file}`, import.meta.url).href)) as Record<
    string,
    Build
  >

const say = (text: string) => void process.stdout.write(`${text}\n`)
const sumOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

const executable = resolve('dist/release/countersignd-linux-x64')
assert(existsSync(executable), `${executable} is missing. Run: npm run build:exe`)
const { values } = parseArgs({ options: { base: { type: 'string' } } })
const place = mkdtempSync(join(tmpdir(), 'countersign-packages-'))
try {
  const buildDebs = (await built('deb.mjs'))['buildDebs']!
  const buildImages = (await built('image.mjs'))['buildImages']!
  /** Builds into a folder of its own; returns the only path. */
  const build = async (make: Build, version: string, name: string): Promise<string> => {
    const output = join(place, name)
    mkdirSync(output)
    const release = { time: 1_795_900_000, executables: { 'linux-x64': executable }, level: 1 }
    const [path] = await make({ ...release, version, output })
    return path!
  }

  const older = await build(buildDebs, '0.0.1', 'older')
  const newer = await build(buildDebs, '0.0.2', 'newer')
  process.umask(0o077)
  process.env['TZ'] = 'Asia/Kathmandu'
  assert.equal(sumOf(await build(buildDebs, '0.0.2', 'again')), sumOf(newer))
  const image = await build(buildImages, '0.0.2', 'image')
  process.umask(0o022)
  assert.equal(sumOf(await build(buildImages, '0.0.2', 'image-again')), sumOf(image))
  say('the package and the image are the same bytes under another umask, path and time zone')

  const base = values.base ?? join(place, 'base')
  if (!existsSync(join(base, 'usr'))) await installDebian(base)
  await testImage(image, { place: join(place, 'containers'), say })
  await testPackages({ older, newer }, { base, place, say })
} finally {
  rmSync(place, { recursive: true, force: true })
}
