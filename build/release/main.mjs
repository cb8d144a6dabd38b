/**
 * Builds what a version consists of into `dist/release/`, under the names that a download has:
 *
 *   npm run release                       from the tag of the version
 *   npm run release -- --untagged         a trial, from any sources
 *   npm run release -- --untagged STEP…   a trial of these steps
 */
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeBills } from './bills.mjs'
import { buildDebs } from './deb.mjs'
import { buildExecutables, checkNode, executableName, targetsHere } from './executables.mjs'
import { buildImages } from './image.mjs'
import { writeNotes } from './notes.mjs'
import { releasedSource } from './source.mjs'
import { writeSums } from './sums.mjs'

/**
 * The steps in their order. Each is called with the same object, and writes files into its folder
 * `output`. The object has the members of `releasedSource`, and:
 * - isTrial: whether the sources may be any
 * - bundledFiles: the files in the bundle
 * - executables: the paths of the executables by target
 */
const STEPS = {
  executables: buildExecutables,
  bills: writeBills,
  debs: buildDebs,
  images: buildImages,
  notes: writeNotes,
  sums: writeSums,
}

/**
 * Runs the steps with these names, or all.
 * @throws if a name is unknown, or some steps are asked for without a trial
 */
async function run(names, isTrial) {
  const unknown = names.find((name) => !(name in STEPS))
  if (unknown !== undefined)
    throw new Error(`There is no step ${unknown}. The steps are ${Object.keys(STEPS).join(', ')}.`)
  if (names.length > 0 && !isTrial)
    throw new Error(`A release needs every step, not only ${names}. Add --untagged for a trial.`)
  const wanted = names.length === 0 ? Object.keys(STEPS) : names

  checkNode()
  const source = await releasedSource({ isTrial })
  const output = resolve('dist/release')
  // Files of an earlier build would be released too.
  const stale = wanted.includes('executables') ? [output] : []
  for (const path of ['dist/lib', 'dist/pages', ...stale])
    await rm(path, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  const { bundledFiles } = await import('../../build.mjs')

  const executables = Object.fromEntries(
    Object.keys(targetsHere()).map((target) => [target, join(output, executableName(target))]),
  )
  const release = { ...source, isTrial, bundledFiles, executables, output }
  for (const [name, step] of Object.entries(STEPS)) if (wanted.includes(name)) await step(release)
}

const { values, positionals } = parseArgs({
  options: { untagged: { type: 'boolean', default: false } },
  allowPositionals: true,
})
try {
  await run(positionals, values.untagged)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
