/**
 * The manual: a page for each command and group of commands, made from the table of commands, and
 * pages for files and the service, made from sections of the documents.
 * @see man-pages(7)
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { COMMANDS } from '../../src/cli/commands.ts'
import { commandsBelow } from '../../src/cli/help/command-words.ts'
import {
  EXIT_TEXTS,
  FIRST_EXAMPLES,
  JSON_OPTION,
  OVERVIEW_END,
  TAGLINE,
  firstWords,
  summaryOf,
} from '../../src/cli/help/help.ts'
import { SECTIONS } from '../../src/cli/help/topics.ts'
import { EXIT } from '../../src/errors.ts'
import { commandsIn, marked, partsOf, usageWords } from './help.mjs'
import { introductionLines, sectionLines } from './markdown.mjs'
import { bold, filled, literal, page, prose, tagged } from './roff.mjs'

const PROGRAM = 'countersignd'

/** The pages about files and the service, with the sections of documents that they show. */
const FROM_DOCUMENTS = [
  {
    name: 'countersignd.env',
    section: 5,
    summary: 'settings of countersignd',
    from: [
      ['docs/operations.md', 'Configuration'],
      ['docs/operations.md', 'Retention'],
    ],
  },
  {
    name: 'countersignd-state',
    section: 5,
    summary: 'state folder of countersignd',
    from: [['docs/operations.md', 'The state folder']],
  },
  {
    name: 'countersignd-audit',
    section: 5,
    summary: 'audit log of countersignd',
    from: [['docs/operations.md', 'The audit log']],
  },
  {
    name: 'countersignd-backup',
    section: 5,
    summary: 'format of a backup of countersignd',
    from: [['docs/backup-format.md', undefined]],
  },
  {
    name: 'countersignd-stamp',
    section: 5,
    summary: 'format of a stamp of countersignd',
    from: [['docs/protocol.md', '7. Stamps']],
  },
  {
    name: 'countersignd.service',
    section: 8,
    summary: 'service of the whole machine, as the Debian package installs it',
    from: [
      ['docs/operations.md', 'Install the package'],
      ['docs/operations.md', 'Who reaches the service of the machine'],
    ],
  },
]

const nameOf = (command) => [PROGRAM, ...command.split(' ')].join('-')
const lowered = (text) => text.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase())
const reference = (name, section) => `${bold(name)}(${section})`

const nameLines = (name, summary) => [
  '.SH NAME',
  ...filled(`${literal(name)} \\- ${prose(lowered(summary))}`),
]
const section = (title, lines) => (lines.length === 0 ? [] : [`.SH ${title}`, ...lines])

const seeAlso = (references) =>
  section('SEE ALSO', references.length === 0 ? [] : filled([...new Set(references)].join(', ')))

/** Returns the pages about files and the service as references. */
const DOCUMENT_REFERENCES = FROM_DOCUMENTS.map(({ name, section: number }) =>
  reference(name, number),
)

const exampleLines = (examples) =>
  Object.entries(examples).flatMap(([line, what]) =>
    tagged(bold(`${PROGRAM} ${line}`), filled(prose(what))),
  )

/** Returns a list of commands with references to their pages. */
const listLines = (names) =>
  names.flatMap((name) =>
    tagged(reference(nameOf(name), 1), filled(prose(lowered(summaryOf(name))))),
  )

/** Returns the page that the name of a command in a text stands for; undefined for other words. */
function pageIn(words) {
  const names = words.split(' ')
  for (const count of [3, 2, 1]) {
    const name = names.slice(0, count).join(' ')
    if (summaryOf(name) !== undefined) return name
  }
  return undefined
}

/** Returns the group or command that a name continues; undefined if it is one word. */
function parentOf(name) {
  const words = name.split(' ').slice(0, -1)
  return words.length === 0 ? undefined : words.join(' ')
}

async function commandPage(name) {
  const { usage, help, examples = {} } = await COMMANDS[name].load()
  const { description, options, exit } = partsOf(help)
  const isForScripts = usage.includes('--json') && !help.includes('\n  --json')
  const json = isForScripts ? tagged(bold('--json'), filled(prose(JSON_OPTION))) : []
  const below = commandsBelow(name)
  const parent = parentOf(name)
  const others = commandsIn(help)
    .map((words) => pageIn(words))
    .filter((other) => other !== undefined && other !== name)
  const related = [
    reference(PROGRAM, 1),
    ...[parent, ...others, ...below]
      .filter((other) => other !== undefined)
      .map((other) => reference(nameOf(other), 1)),
    reference('countersignd.env', 5),
    ...FROM_DOCUMENTS.filter((page) => page.name === nameOf(name)).map((page) =>
      reference(page.name, page.section),
    ),
  ]
  return {
    name: nameOf(name),
    section: 1,
    lines: [
      ...nameLines(nameOf(name), summaryOf(name)),
      '.SH SYNOPSIS',
      ...filled(`${bold(`${PROGRAM} ${name}`)} ${usageWords(usage)}`),
      ...section('DESCRIPTION', description),
      ...section('OPTIONS', [...options, ...json]),
      ...section('COMMANDS', listLines(below)),
      ...section('EXIT STATUS', [
        ...exit,
        '.PP',
        ...filled(`${reference(PROGRAM, 1)} lists all exit codes.`),
      ]),
      ...section('EXAMPLES', exampleLines(examples)),
      ...seeAlso(related),
    ],
  }
}

const groupPage = (name) => ({
  name: nameOf(name),
  section: 1,
  lines: [
    ...nameLines(nameOf(name), summaryOf(name)),
    '.SH SYNOPSIS',
    ...filled(`${bold(`${PROGRAM} ${name}`)} ${usageWords('COMMAND [OPTIONS]')}`),
    ...section('DESCRIPTION', filled(marked(`${summaryOf(name)}.`))),
    ...section('COMMANDS', listLines(commandsBelow(name))),
    ...seeAlso([
      reference(PROGRAM, 1),
      ...[parentOf(name)].flatMap((one) => (one === undefined ? [] : [reference(nameOf(one), 1)])),
    ]),
  ],
})

async function programPage() {
  const bySection = firstWords()
  const commands = Object.entries(SECTIONS).flatMap(([key, title]) => [
    `.SS ${prose(title)}`,
    ...listLines(bySection.get(key) ?? []),
  ])
  const exitCodes = Object.entries(EXIT).flatMap(([name, code]) =>
    tagged(bold(String(code)), filled(marked(EXIT_TEXTS[name]))),
  )
  return {
    name: PROGRAM,
    section: 1,
    lines: [
      ...nameLines(PROGRAM, TAGLINE),
      '.SH SYNOPSIS',
      ...filled(`${bold(PROGRAM)} ${usageWords('COMMAND [OPTIONS]')}`),
      '.SH DESCRIPTION',
      ...(await introductionLines('README.md')),
      '.PP',
      ...filled(marked(OVERVIEW_END)),
      '.SH COMMANDS',
      ...commands,
      ...section('EXIT STATUS', exitCodes),
      ...section('EXAMPLES', exampleLines(FIRST_EXAMPLES)),
      ...seeAlso(DOCUMENT_REFERENCES),
    ],
  }
}

async function documentPage({ name, section: number, summary, from }) {
  const parts = await Promise.all(from.map(([file, heading]) => sectionLines(file, heading)))
  const others = DOCUMENT_REFERENCES.filter((one) => one !== reference(name, number))
  const lines = parts.flatMap((part, at) =>
    at === 0 || from[at][1] === undefined
      ? part
      : [`.SH ${literal(from[at][1].toUpperCase())}`, ...part],
  )
  return {
    name,
    section: number,
    lines: [
      ...nameLines(name, summary),
      '.SH DESCRIPTION',
      ...lines,
      ...seeAlso([reference(PROGRAM, 1), ...others]),
    ],
  }
}

/** Returns the names of all commands and groups. */
const allNames = () => {
  const names = Object.keys(COMMANDS).flatMap((name) => {
    const words = name.split(' ')
    return words.map((_, at) => words.slice(0, at + 1).join(' '))
  })
  return [...new Set(names)]
}

/**
 * Returns the pages by file name, such as `countersignd-guest-create.1`.
 * @param {object} of
 * @param {string} of.version of the program
 * @param {number} of.time of the sources, in seconds since 1970
 */
export async function manPages({ version, time }) {
  const date = new Date(time * 1000).toISOString().slice(0, 10)
  const made = await Promise.all([
    programPage(),
    ...allNames().map((name) =>
      Object.hasOwn(COMMANDS, name) ? commandPage(name) : groupPage(name),
    ),
    ...FROM_DOCUMENTS.map((one) => documentPage(one)),
  ])
  return new Map(made.map((one) => [`${one.name}.${one.section}`, page({ ...one, date, version })]))
}

/** Writes the pages into a folder. */
export async function writeManPages({ version, time, folder }) {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of await manPages({ version, time }))
    await writeFile(join(folder, name), text)
}
