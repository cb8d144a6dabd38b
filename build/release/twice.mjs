/**
 * Builds the commit twice, and checks that the files are the same and name no folder of the build:
 *
 *   npm run release:twice                        from the tag of the version
 *   npm run release:twice -- --untagged          from any commit
 *   npm run release:twice -- --untagged STEP…    only these steps
 *
 * The second build has another path, clock, time zone, language and mask of modes, and as root
 * another user. Each build is of a clone with its own packages. Needs `faketime`, and for
 * images `uidmap`.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const say = (text) => process.stdout.write(`${text}\n`)
const NOBODY = 65_534
/** Ids that no user has. Without ids of its own, a user cannot make images with files of others. */
const SUBORDINATE = '400000000-400065535'
const isRoot = process.getuid() === 0

/** Runs a command; its output is shown. */
function run(command, words, options) {
  const { status, error } = spawnSync(command, words, { stdio: 'inherit', ...options })
  if (error !== undefined) throw new Error(`Cannot run ${command}: ${error.message}. Install it.`)
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}`)
}

/** Runs some work while the other user has subordinate ids, which buildah needs (subuid(5)). */
function withSubordinateIds(work) {
  const change = (how) =>
    run('usermod', [`--${how}-subuids`, SUBORDINATE, `--${how}-subgids`, SUBORDINATE, 'nobody'])
  change('add')
  try {
    work()
  } finally {
    change('del')
  }
}

/** Fetches what a build gets from the registry: its clock may be wrong for certificates. */
const FETCH = `
  const { TARGETS } = await import('./build/release/executable.mjs')
  const { folderOf } = await import('./build/packages.mjs')
  const names = Object.values(TARGETS).flatMap(({ node, addon }) => [node, '@napi-rs/keyring-' + addon])
  for (const name of ['@scalar/api-reference', ...names]) await folderOf(name)`

/** Clones the commit into a new folder, with its packages. */
function clone(path) {
  run('git', ['clone', '--quiet', '--no-local', process.cwd(), path])
  run('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: path })
  run(process.execPath, ['--input-type=module', '--eval', FETCH], { cwd: path })
}

/** Returns the SHA-256 of each file of a build, by its name. */
const sumsIn = (folder) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  )

/** Returns the names of the files of a build that contain a text. */
const filesWith = (folder, text) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    // Caches of runs and source maps are in no file of a release.
    .filter((one) => one.isFile() && !/\.(cache|map)$/.test(one.name))
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => readFileSync(path).includes(text))

const place = realpathSync(mkdtempSync(join(tmpdir(), 'countersignd-twice-')))
try {
  const words = ['build/release/main.mjs', ...process.argv.slice(2)]
  const [one, other] = [join(place, 'a'), join(place, 'another place', 'für später', 'b')]
  const home = join(place, 'home')
  chmodSync(place, 0o755)
  for (const path of [join(other, '..'), home]) mkdirSync(path, { recursive: true })
  for (const path of [one, other]) clone(path)

  say('The first build')
  run(process.execPath, words, { cwd: one })

  say('The second build')
  if (isRoot) for (const path of [other, home]) run('chown', ['-R', `${NOBODY}:${NOBODY}`, path])
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    TZ: 'Asia/Kathmandu',
    LC_ALL: 'tr_TR.UTF-8',
    LANG: 'tr_TR.UTF-8',
    // Only the time of day is another one: Node's timers use the other clock.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const line = 'umask 077 && exec "$@"'
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const again = () =>
    run('/bin/sh', ['-c', line, 'sh', 'faketime', '+400 days', process.execPath, ...words], {
      cwd: other,
      env,
      ...user,
    })
  if (isRoot) withSubordinateIds(again)
  else again()

  const [first, second] = [one, other].map((path) => sumsIn(join(path, 'dist/release')))
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  const different = [...names].filter((name) => first[name] !== second[name])
  for (const name of names)
    say(`${first[name] ?? 'missing'}  ${name}${different.includes(name) ? '  DIFFERENT' : ''}`)
  const named = [one, other].flatMap((path) => filesWith(join(path, 'dist'), place))
  for (const path of named) say(`${path} names the folder of the build`)
  if (different.length + named.length > 0) process.exitCode = 1
  else say(`The ${names.size} files are the same, and none names the folder of its build.`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
