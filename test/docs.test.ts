/**
 * `docs/api.md`, `docs/cli.md` and `docs/operations.md` against the tables that they describe:
 * routes with their scopes, commands with their options, error codes, exit codes, settings, counts.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agents } from '../src/api/agents/index.ts'
import { consoleTable } from '../src/api/console/index.ts'
import { docsTable } from '../src/api/docs/index.ts'
import { EVENTS } from '../src/api/live/catalogue.ts'
import { rest } from '../src/api/rest/index.ts'
import { everyPath } from '../src/api/route.ts'
import { rowsOf } from '../src/api/rows.ts'
import { promptsFor } from '../src/api/tools/prompts.ts'
import { listedResources, listedTemplates } from '../src/api/tools/resources.ts'
import { TOOL_SETS } from '../src/api/tools/sets.ts'
import { toolsOf } from '../src/api/tools/tool.ts'
import { restNeed } from '../src/auth/scopes.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { SETTINGS } from '../src/config/settings.ts'
import { CODES, EXIT, statusOf } from '../src/errors.ts'

interface Doc {
  readonly file: string
  readonly lines: readonly string[]
}

const docOf = (file: string, text: string): Doc => ({ file, lines: text.split('\n') })
const read = (file: string): Doc =>
  docOf(file, readFileSync(join(import.meta.dirname, '..', file), 'utf8'))

const API = read('docs/api.md')
const CLI = read('docs/cli.md')
const OPERATIONS = read('docs/operations.md')

/** Returns where a section begins and ends, as indices of lines. */
function sectionOf({ file, lines }: Doc, heading: string): [from: number, to: number] {
  const from = lines.indexOf(heading)
  assert(from >= 0, `${file} has no section "${heading}": add it.`)
  const next = lines.findIndex((line, at) => at > from && line.startsWith('## '))
  return [from, next < 0 ? lines.length : next]
}

/** Returns the rows of the table in a section, without its heading, as cells with their line. */
function tableIn(doc: Doc, heading: string): { line: number; cells: string[] }[] {
  const [from, to] = sectionOf(doc, heading)
  return doc.lines
    .map((text, at) => ({ text, line: at + 1 }))
    .slice(from, to)
    .filter(({ text }) => text.startsWith('|'))
    .slice(2)
    .map(({ text, line }) => ({
      line,
      cells: text
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    }))
}

const codeSpans = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '')

/**
 * Returns the differences between a table and what it should be.
 * @param expected the cells after the first one, by the first cell
 */
function differences(doc: Doc, heading: string, expected: ReadonlyMap<string, string>): string[] {
  const found = tableIn(doc, heading)
  const last = found.at(-1)?.line ?? sectionOf(doc, heading)[0] + 1
  const rowOf = (key: string) => `"| ${key} | ${expected.get(key)} |"`
  const stale = found.flatMap(({ line, cells: [key = '', ...others] }) => {
    const value = others.join(' | ')
    if (!expected.has(key)) return [`${doc.file}:${line}: there is no ${key}. Delete the line.`]
    return expected.get(key) === value
      ? []
      : [`${doc.file}:${line}: ${key} has "${value}". Write ${rowOf(key)}.`]
  })
  const keys = found.map(({ cells: [key] }) => key)
  const missing = [...expected.keys()]
    .filter((key) => !keys.includes(key))
    .map((key) => `${doc.file}:${last}: ${key} is missing. Add the line ${rowOf(key)}.`)
  const twice = found
    .filter(({ cells: [key] }, at) => keys.indexOf(key) !== at)
    .map(({ line, cells: [key] }) => `${doc.file}:${line}: ${key} stands twice. Delete the line.`)
  return [...stale, ...missing, ...twice]
}

/** Returns a fault for each match in a document for which `remedyOf` returns a remedy. */
const mentions = (
  { file, lines }: Doc,
  pattern: RegExp,
  remedyOf: (...groups: string[]) => string | null,
): string[] =>
  lines.flatMap((text, at) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const remedy = remedyOf(...match.slice(1))
      return remedy === null ? [] : [`${file}:${at + 1}: ${remedy}`]
    }),
  )

const segmentsOf = (path: string) => path.slice(1).split('/')
const routes = rowsOf(rest).flatMap(({ route }) =>
  everyPath(route).map((path) => ({
    name: `${route.method} ${path}`,
    need: restNeed(route.method, segmentsOf(path)),
  })),
)
const SCOPES = new Map(routes.map(({ name, need }) => [`\`${name}\``, need]))

/** Returns a route without the names of its parameters, its query and the common prefix. */
const shapeOf = (method: string, path: string) =>
  `${method} ${path.replace(/\?.*$/, '').replace(/^\/api\/v1(?=\/)/, '')}`.replaceAll(
    /\{\w+\}/g,
    '{}',
  )
/** The events: what each type means, and the members of its data. */
const EVENT_ROWS = new Map(
  Object.entries(EVENTS).map(([type, { text, data }]) => {
    const members = Object.keys(data.entries).map((name) => `\`${name}\``)
    return [`\`${type}\``, `${text} Data: ${members.join(', ')}.`]
  }),
)
const SHAPES = new Set(
  [rest, agents, docsTable, consoleTable]
    .flatMap((table) => rowsOf(table))
    .flatMap(({ route }) => everyPath(route).map((path) => shapeOf(route.method, path))),
)

const commands = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { load }]) => ({
    name,
    options: Object.keys((await load()).options ?? {}).map((option) => `--${option}`),
  })),
)
const OPTIONS = new Map(
  commands.map(({ name, options }) => [
    `\`${name}\``,
    options.length === 0 ? '' : options.map((option) => `\`${option}\``).join(', '),
  ]),
)
/** The first word, the first two words and all words of every command. */
const BEGINNINGS = new Set(
  commands.flatMap(({ name }) => {
    const words = name.split(' ')
    return words.map((_, at) => words.slice(0, at + 1).join(' '))
  }),
)
const FLAGS = new Set([
  ...commands.flatMap(({ options }) => options),
  '--help',
  '--json',
  '--version',
])

const COUNTS: Readonly<Record<string, number>> = {
  routes: routes.length,
  commands: commands.length,
  tools: toolsOf(rest).length,
}

const staleRoutes = (doc: Doc) =>
  mentions(doc, /\b(GET|POST|PATCH|DELETE) (\/[^\s`)"*]*)(?=[\s`)"])/g, (method = '', path = '') =>
    SHAPES.has(shapeOf(method, path))
      ? null
      : `there is no route ${method} ${path}. Correct or delete it.`,
  )

const staleCounts = (doc: Doc) =>
  mentions(doc, /\b(\d+) (routes|commands|tools)\b/g, (count, what = '') =>
    Number(count) === COUNTS[what]
      ? null
      : `there are ${COUNTS[what]} ${what}, not ${count}. Correct the number.`,
  )

/** Returns the commands that exist no more, where a line of a shell calls one. */
const staleCommands = (doc: Doc) =>
  mentions(doc, /\bcountersignd ([a-z][\w-]*)(?: ([a-z][\w-]*))?/g, (first = '', second = '') => {
    const isGroup = BEGINNINGS.has(first) && !Object.hasOwn(COMMANDS, first)
    const called = isGroup && second !== '' ? `${first} ${second}` : first
    return BEGINNINGS.has(called) ? null : `there is no command "${called}". Correct or delete it.`
  })

const staleFlags = (doc: Doc) =>
  mentions(doc, /(?<![\w-])(--[a-z][a-z-]*)/g, (flag = '') =>
    FLAGS.has(flag) ? null : `no command has the option ${flag}. Correct or delete it.`,
  )

/** Returns faults of a table with rows that name codes of `expected` with their number. */
function codeFaults(doc: Doc, heading: string, expected: ReadonlyMap<string, number>): string[] {
  const rows = tableIn(doc, heading)
  const last = rows.at(-1)?.line ?? 0
  const found = rows.flatMap(({ line, cells: [numbers = '', codes = ''] }) =>
    codeSpans(codes)
      .filter((code) => /^[a-z]+(_[a-z]+)*$/.test(code) && expected.has(code))
      .map((code) => ({ line, code, numbers: numbers.split(', ').map(Number) })),
  )
  const wrong = found
    .filter(({ code, numbers }) => !numbers.includes(expected.get(code) ?? 0))
    .map(
      ({ line, code }) =>
        `${doc.file}:${line}: ${code} has the status ${expected.get(code)}. Move it to that row.`,
    )
  const missing = [...expected]
    .filter(([code]) => !found.some((one) => one.code === code))
    .map(
      ([code, status]) =>
        `${doc.file}:${last}: ${code} is missing. Add it to the row of ${status}.`,
    )
  return [...wrong, ...missing]
}

const assertNone = (faults: readonly string[]) => assert.equal(faults.join('\n'), '')

test('docs/api.md has every route with its scope', () =>
  assertNone(differences(API, '## Routes', SCOPES)))

test('docs/api.md has every type of event with its data', () =>
  assertNone(differences(API, '## Events', EVENT_ROWS)))

test('docs/cli.md has every command with its options', () =>
  assertNone(differences(CLI, '## Commands and options', OPTIONS)))

test('docs/api.md has every error code at its status', () =>
  assertNone(codeFaults(API, '## Errors', new Map(CODES.map((code) => [code, statusOf(code)])))))

test('docs/api.md has every set of tools, every prompt and every resource', () => {
  const found = tableIn(API, '## Tools and MCP').map(({ cells: [cell = ''] }) => cell)
  const expected = [
    ...TOOL_SETS,
    ...promptsFor(new Set(toolsOf(rest).map(({ name }) => name))),
    ...listedResources.map(({ uri }) => uri),
    ...listedTemplates.map(({ uriTemplate }) => uriTemplate),
  ]
  assert.deepEqual(
    found.filter((cell) => cell.startsWith('`')).toSorted(),
    expected.map((name) => `\`${name}\``).toSorted(),
  )
})

test('docs/operations.md has every setting with its default and its meaning', () =>
  assertNone(
    differences(
      OPERATIONS,
      '## Configuration',
      new Map(
        SETTINGS.map(({ name, byDefault, meaning }) => [
          `\`${name}\``,
          `${byDefault ?? 'none'} | ${meaning}`,
        ]),
      ),
    ),
  ))

test('docs/cli.md has every exit code', () => {
  const codes = tableIn(CLI, '## Exit codes').map(({ cells: [code] }) => Number(code))
  assert.deepEqual(codes, Object.values(EXIT), 'docs/cli.md, "Exit codes": one row for each')
})

for (const doc of [API, CLI, OPERATIONS, ...['README.md', 'docs/architecture.md'].map(read)])
  test(`${doc.file} names existing routes and commands, and their right numbers`, () =>
    assertNone([
      ...staleCounts(doc),
      ...staleCommands(doc),
      ...(doc === API ? staleRoutes(doc) : []),
    ]))

test('docs/cli.md names existing options', () => assertNone(staleFlags(CLI)))

test('docs/api.md and docs/cli.md give the number of routes, tools and commands', () => {
  assert(API.lines.some((line) => line.includes(`${COUNTS['routes']} routes`)))
  assert(API.lines.some((line) => line.includes(`${COUNTS['tools']} tools`)))
  assert(CLI.lines.some((line) => line.includes(`${COUNTS['commands']} commands`)))
})

const planted: Record<string, [faults: string[], says: RegExp]> = {
  'a route with another scope': [
    differences(
      docOf('a.md', '## Routes\n\n| route | scope |\n| --- | --- |\n| `GET /x` | write |'),
      '## Routes',
      new Map([['`GET /x`', 'read']]),
    ),
    /^a\.md:5: `GET \/x` has "write"\. Write "\| `GET \/x` \| read \|"\.$/,
  ],
  'a missing route': [
    differences(
      docOf('a.md', '## Routes\n\n| route | scope |\n| --- | --- |'),
      '## Routes',
      new Map([['`GET /x`', 'read']]),
    ),
    /^a\.md:1: `GET \/x` is missing\. Add the line "\| `GET \/x` \| read \|"\.$/,
  ],
  'a removed route': [
    differences(
      docOf('a.md', '## Routes\n\n| route | scope |\n| --- | --- |\n| `GET /x` | read |'),
      '## Routes',
      new Map(),
    ),
    /^a\.md:5: there is no `GET \/x`\. Delete the line\.$/,
  ],
  'a removed route in the text': [
    staleRoutes(docOf('a.md', 'Send `POST /api/v1/verifies`.')),
    /^a\.md:1: there is no route POST \/api\/v1\/verifies\./,
  ],
  'a wrong count': [staleCounts(docOf('a.md', 'All 7 routes.')), /^a\.md:1: there are \d+ routes,/],
  'a removed command': [
    staleCommands(docOf('a.md', '\ncountersignd org dissolve')),
    /^a\.md:2: there is no command "org dissolve"\./,
  ],
  'a removed option': [
    staleFlags(docOf('a.md', '`sync --fast`')),
    /^a\.md:1: no command has the option --fast\./,
  ],
  'an error code at another status': [
    codeFaults(
      docOf('a.md', '## Errors\n\n| status | error |\n| --- | --- |\n| 409 | `not_found` |'),
      '## Errors',
      new Map([['not_found', 404]]),
    ),
    /^a\.md:5: not_found has the status 404\./,
  ],
}

for (const [what, [faults, says]] of Object.entries(planted))
  test(`${what} is reported with file, line and remedy`, () => {
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', says)
  })
