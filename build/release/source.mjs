/** The sources that are released: their version, their time and the checks before a release. */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'

const git = (...words) =>
  execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()

/** Returns the entries of the changelog below a heading of the second level. */
export async function changesOf(heading) {
  const text = await readFile('CHANGELOG.md', 'utf8')
  const [, section] = `\n${text}`.split(`\n## ${heading}\n`)
  return section?.split('\n## ')[0].trim()
}

/**
 * Checks that the sources are those of the version's tag.
 * @throws if they have changes, the commit has no tag of the version, or the changelog lacks it
 */
async function checkTag(version) {
  const tag = `v${version}`
  const changed = git('status', '--porcelain')
  if (changed !== '')
    throw new Error(
      `The sources differ from the commit, so the same files could not be built from it:\n${changed}\nCommit or remove these changes.`,
    )
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(tag))
    throw new Error(
      `The commit ${git('rev-parse', '--short=12', 'HEAD')} has no tag ${tag}, so its sources could not be found. Run "git tag --sign ${tag}", or check out that tag.`,
    )
  if (!(await changesOf(version)))
    throw new Error(
      `CHANGELOG.md has no section ${version}, so the release would have no notes. Rename the section Unreleased.`,
    )
}

/**
 * Returns what is released.
 * @param {{isTrial: boolean}} given a trial may be of any sources; its notes are unreleased changes
 * @returns `program`: the content of package.json; `time`: of the commit, in seconds since 1970;
 *   `changes`: the entries of the changelog
 */
export async function releasedSource({ isTrial }) {
  const program = JSON.parse(await readFile('package.json', 'utf8'))
  if (!isTrial) await checkTag(program.version)
  return {
    program,
    version: program.version,
    time: Number(git('log', '-1', '--format=%ct')),
    changes: await changesOf(isTrial ? 'Unreleased' : program.version),
  }
}
