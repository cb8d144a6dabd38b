/** Checks the English of the repository, a folder at a time. Exits with 1 if there is a fault. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { faultsOf, stringFaultsOf, testNameFaultsOf } from './prose.ts'

/** Folders and files that are not checked: vectors and lists of words of others. */
const FOREIGN = /^test\/(testkit2?|golden|fixtures)\/|^src\/crypto\/wordlist\.ts$/

const tracked = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.mjs', '*.md'], {
  encoding: 'utf8',
})
/** A file may be deleted but still in the index. */
const paths = tracked
  .split('\0')
  .filter((path) => path !== '' && !FOREIGN.test(path) && existsSync(path))

/** The sources with checked names of tests. Their other strings are input and expected output. */
const WITH_TESTS = /^test\/.*\.ts$/

/** The sources with checked strings. The check leaves out words that a search ignores. */
const WITH_TEXTS =
  /^(?:bench|src)\/(?!service\/assistant\/handbook\.ts$|languages\/console\/en\/call\.ts$|api\/tools\/prompts\.ts$).*\.tsx?$/

/** `src/cli`, `docs/decisions`, `test`: two levels at most. */
const folderOf = (path: string) => path.split('/').slice(0, -1).slice(0, 2).join('/') || '.'

const read = (files: readonly string[]) =>
  Object.fromEntries(files.map((path) => [path, readFileSync(path, 'utf8')]))

const faults = Object.values(Object.groupBy(paths, folderOf)).flatMap((files = []) => [
  ...faultsOf(read(files)),
  ...stringFaultsOf(read(files.filter((path) => WITH_TEXTS.test(path)))),
  ...testNameFaultsOf(read(files.filter((path) => WITH_TESTS.test(path)))),
])
for (const fault of faults) console.error(fault)
if (faults.length > 0) {
  console.error(`${faults.length} places to mend: see "How it is written" in CONTRIBUTING.md`)
  process.exitCode = 1
}
