/** Sections of the documents as lines of a page. */
import { readFile } from 'node:fs/promises'
import { parsers } from 'prettier/plugins/markdown'
import { bold, filled, italic, literal, prose, tagged, verbatim } from './roff.mjs'

const textOf = (node) => node.value ?? (node.children ?? []).map((one) => textOf(one)).join('')

const INLINE = {
  text: ({ value }) => prose(value),
  inlineCode: ({ value }) => bold(value),
  strong: (node) => bold(textOf(node)),
  emphasis: (node) => italic(textOf(node)),
  sentence: (node) => inline(node),
  whitespace: () => ' ',
  break: () => ' ',
  // The headings of a page cannot be followed, so only an address outside is useful.
  link: (node) =>
    /^https?:/.test(node.url) && textOf(node) !== node.url
      ? `${inline(node)} (${literal(node.url)})`
      : inline(node),
  image: () => '',
}

function inline({ children }) {
  return children
    .map((node) => {
      const make = INLINE[node.type]
      if (make === undefined) throw new Error(`A page cannot show Markdown of type ${node.type}.`)
      return make(node)
    })
    .join('')
}

/** Returns the rows of a table as paragraphs: the first cell is the tag. */
function tableLines({ children: [head, ...rows] }) {
  const names = head.children.map((cell) => textOf(cell))
  return rows.flatMap(({ children: [first, ...cells] }) => {
    const texts = cells.map((cell, at) => {
      const label = names[at + 1]
      const isPlain = cells.length === 1 || label === 'meaning'
      return isPlain ? inline(cell) : `${prose(label)}: ${inline(cell)}`
    })
    const lines = texts.filter((text) => text !== '').flatMap((text) => ['.br', ...filled(text)])
    return tagged(inline(first), lines.slice(1))
  })
}

/** Returns an item of a list: its other blocks are indented as its first. */
function itemLines(mark, { children }) {
  const [first, ...others] = children.map((node) => blockLines(node))
  const rest = others.flat().filter((line, at, all) => line !== '.PP' || at < all.length - 1)
  return [
    `.IP ${mark}`,
    ...first.filter((line) => line !== '.PP'),
    ...(rest.length === 0 ? [] : ['.RS', ...rest, '.RE']),
  ]
}

function blockLines(node, depth = 2) {
  switch (node.type) {
    case 'heading':
      return [`.S${node.depth <= depth ? 'H' : 'S'} ${headingOf(node, depth)}`]
    case 'paragraph':
      return ['.PP', ...filled(inline(node))]
    case 'code':
      return verbatim(node.value)
    case 'table':
      return tableLines(node)
    case 'list':
      return node.children.flatMap((item, at) =>
        itemLines(node.ordered ? `${at + 1}. 4` : '\\(bu 2', item),
      )
    default:
      throw new Error(`A page cannot show Markdown of type ${node.type}.`)
  }
}

const headingOf = (node, depth) =>
  node.depth <= depth ? literal(textOf(node).toUpperCase()) : literal(textOf(node))

/** Returns the blocks of a document. */
const blocksOf = async (file) => {
  const text = await readFile(file, 'utf8')
  return parsers.markdown.parse(text, { originalText: text }).children
}

/**
 * Returns a section of a document as lines, without its heading. Its own sections are sections of
 * the page, or parts of one.
 * @param heading the text of the heading; undefined for a whole document without its title
 */
export async function sectionLines(file, heading) {
  const blocks = await blocksOf(file)
  const from = blocks.findIndex(
    (node) => node.type === 'heading' && (heading === undefined ? true : textOf(node) === heading),
  )
  if (from < 0) throw new Error(`${file} has no section "${heading}".`)
  const { depth } = blocks[from]
  const end = blocks.findIndex(
    (node, at) => at > from && node.type === 'heading' && node.depth <= depth,
  )
  return blocks
    .slice(from + 1, end < 0 ? blocks.length : end)
    .flatMap((node) => blockLines(node, depth === 1 ? 2 : depth))
}

/** Returns the paragraphs with which a document begins, before its first section. */
export async function introductionLines(file) {
  const blocks = await blocksOf(file)
  const end = blocks.findIndex((node) => node.type === 'heading' && node.depth > 1)
  return blocks
    .slice(1, end)
    .filter((node) => node.type === 'paragraph' && node.children[0]?.type !== 'image')
    .flatMap((node) => blockLines(node))
}
