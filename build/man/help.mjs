/** The help of a command as the sections of a page. */
import { bold, filled, italic, literal, prose, tagged } from './roff.mjs'

/** What stands out in prose: commands in quotes, options, settings. */
const MARKED = /"countersignd ([^"]*)"|(?<![\w-])--[a-z][a-z-]*|\bSVC_[A-Z_]+\b/g

/** Returns prose of a help text. */
export function marked(text) {
  let out = ''
  let end = 0
  for (const found of text.matchAll(MARKED)) {
    out += prose(text.slice(end, found.index)) + bold(found[0].replaceAll('"', ''))
    end = found.index + found[0].length
  }
  return out + prose(text.slice(end))
}

/** Returns the commands that a text names in quotes, without the name of the program. */
export const commandsIn = (text) =>
  [...text.replaceAll(/\s+/g, ' ').matchAll(MARKED)].flatMap(([, command]) => command ?? [])

/** Returns the words of a synopsis or a tag: options are literal, capitals stand for a value. */
export const usageWords = (text) =>
  text
    .split(/([\s[\]|,…]+)/)
    .map((word) => {
      if (/^--?[a-z]/.test(word)) return bold(word)
      return /^[A-Z][A-Z_]*$/.test(word) ? italic(word) : literal(word)
    })
    .join('')

const ITEM = /^ {2,3}(\S.*?) {2,}(\S.*)$/
const TERM_ALONE = /^ {2,3}(--\S.*)$/
const STEP = /^ {2,3}(\d+\.) (.*)$/
const LINE = /^ {2,3}(\S.*)$/

/**
 * Returns the blocks of a help text: paragraphs, and items with a term (null: a bullet). A line
 * that is indented further continues its item.
 */
export function blocksOf(help) {
  const blocks = []
  let open = null
  const begin = (block) => {
    blocks.push(block)
    open = block
  }
  for (const line of help.trim().split('\n')) {
    if (line.trim() === '') open = null
    else if (!line.startsWith(' ')) {
      if (open?.kind === 'text') open.text += `\n${line}`
      else begin({ kind: 'text', text: line })
    } else if (/^ {2,3}\S/.test(line)) {
      const [, term, text] = STEP.exec(line) ?? ITEM.exec(line) ?? TERM_ALONE.exec(line) ?? []
      begin(
        term === undefined
          ? { kind: 'item', term: null, text: LINE.exec(line)[1], more: [] }
          : { kind: 'item', term, text: text ?? '', more: [] },
      )
    } else if (open?.kind === 'item') {
      const [, term, text] = /^ +(\S+) {2,}(\S.*)$/.exec(line) ?? []
      if (term !== undefined) open.more.push({ kind: 'item', term, text, more: [] })
      else open.text += `\n${line.trim()}`
    } else throw new Error(`This line of a help text continues nothing: ${line}`)
  }
  return blocks
}

/** Returns a block as lines of a page. */
function linesOf({ kind, term, text, more = [] }) {
  if (kind === 'text') return ['.PP', ...filled(marked(text))]
  if (term === null) return ['.IP \\(bu 2', ...filled(marked(text))]
  const inner = more.length === 0 ? [] : ['.RS', ...more.flatMap((one) => linesOf(one)), '.RE']
  return [...tagged(usageWords(term), filled(marked(text))), ...inner]
}

const isOption = ({ kind, term }) => kind === 'item' && term?.startsWith('--')
const isAboutExit = ({ kind, text }) => kind === 'text' && text.startsWith('The exit code is')

/**
 * Returns the parts of a help text as lines: its options, what it has about the exit code, and the
 * rest.
 */
export function partsOf(help) {
  const blocks = blocksOf(help)
  const parts = { description: [], options: [], exit: [] }
  let before = 'description'
  for (const block of blocks) {
    const isItem = block.kind === 'item'
    const part = isOption(block)
      ? 'options'
      : isAboutExit(block)
        ? 'exit'
        : isItem
          ? before
          : 'description'
    parts[part].push(...linesOf(block))
    before = part === 'options' ? 'description' : part
  }
  return parts
}
