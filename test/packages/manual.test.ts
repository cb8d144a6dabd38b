/** The manual: each command has a page with all its options, and formatters accept every page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import { TOPICS } from '../../src/cli/help/topics.ts'
import { exec } from '../e2e/program.ts'
import { lacking } from '../installed.ts'

interface Sources {
  readonly version: string
  readonly time: number
}

interface Manual {
  readonly manPages: (of: Sources) => Promise<ReadonlyMap<string, string>>
  readonly writeManPages: (of: Sources & { readonly folder: string }) => Promise<void>
}

const { manPages, writeManPages } = (await import(
  new URL('../../build/man/pages.mjs', import.meta.url).href
)) as Manual

const SOURCES = { version: '1.2.3', time: 1_764_000_000 }
const pages = await manPages(SOURCES)
const pageOf = (name: string) =>
  pages.get(`countersignd-${name.replaceAll(' ', '-')}.1`) ?? assert.fail(`no page of "${name}"`)

/** The option with which `doctor` starts itself again, which is not for people. */
const HIDDEN = new Set(['doctor --parts'])

/** Returns a page as it is shown: without the escapes of hyphens and of places to divide words. */
const shown = (page: string) => page.replaceAll(String.raw`\%`, '').replaceAll(String.raw`\-`, '-')

/** Returns the options that a page explains: those in the tags of its paragraphs. */
const optionsIn = (page: string): string[] =>
  [...shown(page).matchAll(/^\.TP\n(.+)$/gm)].flatMap(([, tag = '']) =>
    [...tag.matchAll(/--[a-z-]+/g)].map(([option]) => option),
  )

describe('the manual', () => {
  for (const [name, { load, summary }] of Object.entries(COMMANDS))
    it(`explains "${name}" and all its options`, async () => {
      const page = pageOf(name)
      const { options = {} } = await load()
      const missing = Object.keys(options)
        .map((option) => `--${option}`)
        .filter((option) => !HIDDEN.has(`${name} ${option}`) && !optionsIn(page).includes(option))
      assert.deepEqual(missing, [], `the help of "${name}" does not explain these options`)
      const [, title] = /\n\.SH NAME\n([^]*?)\n\.SH/.exec(shown(page)) ?? []
      assert.equal(
        title?.replaceAll('\n', ' ').toLowerCase(),
        `countersignd-${name.replaceAll(' ', '-')} - ${summary}`.toLowerCase(),
      )
    })

  it('has a page for each group, which names its commands', () => {
    for (const group of Object.keys(TOPICS)) {
      const page = pageOf(group)
      for (const name of Object.keys(COMMANDS).filter((one) => one.startsWith(`${group} `)))
        assert.match(
          shown(page),
          new RegExp(`countersignd-${name.replaceAll(' ', '-')}\\\\fR\\(1\\)`),
        )
    }
  })

  it('has pages for the settings, the files and the service', () => {
    const others = [...pages.keys()].filter((file) => !file.endsWith('.1'))
    assert.deepEqual(others.toSorted(), [
      'countersignd-audit.5',
      'countersignd-backup.5',
      'countersignd-stamp.5',
      'countersignd-state.5',
      'countersignd.env.5',
      'countersignd.service.8',
    ])
    assert.match(pages.get('countersignd.env.5') ?? '', /SVC_HTTP_BIND/)
  })

  it('shows sections that do not point to other places in their documents', () => {
    for (const [file, page] of pages)
      if (!file.endsWith('.1')) assert.doesNotMatch(shown(page), /sections? below|\(below\)/, file)
  })

  it('names both places of settings on the page of the program', () => {
    const page = shown(pages.get('countersignd.1') ?? '').replaceAll('\n', ' ')
    assert.match(page, /environment variables, or lines of a file/)
  })

  it('depends on the sources only', async () => {
    assert.deepEqual(await manPages(SOURCES), pages)
    for (const [file, page] of pages) {
      assert.match(page, /^[\n\x20-\x7e]*$/, file)
      assert.match(page, /^\.TH "[^"]+" [158] "2025-11-24" "Countersign 1\.2\.3" /m, file)
    }
  })

  describe('for formatters', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-manual-'))
    const files = [...pages.keys()].map((file) => join(folder, file))
    before(() => writeManPages({ ...SOURCES, folder }))
    after(() => rmSync(folder, { recursive: true, force: true }))

    it('has no fault that mandoc finds', { skip: lacking('mandoc') }, async () => {
      const { code, stdout, stderr } = await exec('mandoc', ['-T', 'lint', '-W', 'style', ...files])
      assert.deepEqual([code, stdout, stderr], [0, '', ''])
    })

    it('causes no warning of groff', { skip: lacking('groff') }, async () => {
      const { code, stdout, stderr } = await exec('groff', [
        '-ww',
        '-man',
        '-Tutf8',
        '-z',
        ...files,
      ])
      assert.deepEqual([code, stdout, stderr], [0, '', ''])
    })
  })
})
