/**
 * Checks the English of comments, strings, names of tests and documents: how often some words occur
 * per 1,000 words of a folder, and how long the lines are. CONTRIBUTING.md has the rules.
 */
import ts from 'typescript-5'

/** The longest line of a comment or a paragraph, in characters. */
const LONGEST = 100

interface Rule {
  readonly name: string
  readonly words: RegExp
  /** Occurrences per 1,000 words of a folder. */
  readonly most: number
  /** The limit for strings, where it is another one. */
  readonly mostInStrings?: number
  readonly remedy: string
}

const RULES: readonly Rule[] = [
  {
    name: 'relative clauses without a subject',
    words: /\b(?:who(?:m|so|se)?ever|whom|whose|whatever)\b/gi,
    most: 0.5,
    remedy: 'name the subject: "the caller", "the account", "the value that …"',
  },
  {
    name: 'indefinite persons',
    words: /\b(?:somebody|nobody|anybody|everybody)\b/gi,
    most: 0.2,
    remedy: 'name the role: "a member", "another account", "no user"',
  },
  {
    name: 'programs that speak',
    words: /\b(?:told|tells?|telling|says?|said|saying)\b/gi,
    most: 0.5,
    // People speak the three words aloud: texts for users need the verb.
    mostInStrings: 2.5,
    remedy: 'name the operation: "returns", "reports", "names", "sends"',
  },
  {
    name: 'riddles',
    words: /\b(?:(?:is|are) what|as (?:it was|they were)|other than|of which nobody|goes by)\b/gi,
    most: 0.5,
    remedy: 'write subject, verb and object',
  },
]

/** The fewest words that make a string a text: shorter ones are names, keys and fragments. */
const FEWEST = 4

/** A comment, a string, or a line of a document. */
interface Piece {
  readonly text: string
  /** The line of the file at which the text begins, from 1. */
  readonly line: number
}

/** Returns the comments of a TypeScript or JavaScript source. */
function commentsIn(source: string): Piece[] {
  const file = ts.createSourceFile('x.tsx', source, ts.ScriptTarget.Latest, true)
  const found = new Map<number, number>()
  function visit(node: ts.Node): void {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source, node.end) ?? []),
    ]
    for (const { pos, end } of ranges) found.set(pos, end)
    for (const child of node.getChildren(file)) visit(child)
  }
  visit(file)
  return [...found].map(([pos, end]) => ({
    text: source.slice(pos, end),
    line: file.getLineAndCharacterOfPosition(pos).line + 1,
  }))
}

const wordCount = (text: string): number => (text.match(/[A-Za-z’']+/g) ?? []).length

/** Returns the literals and parts of templates in a node. */
function literalsIn(root: ts.Node, file: ts.SourceFile): Piece[] {
  const pieces: Piece[] = []
  function visit(node: ts.Node): void {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    ) {
      const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
      pieces.push({ text: node.text, line })
    }
    ts.forEachChild(node, visit)
  }
  visit(root)
  return pieces
}

/** Returns the literals and parts of templates of a source that have at least `FEWEST` words. */
function stringsIn(source: string): Piece[] {
  const file = ts.createSourceFile('x.tsx', source, ts.ScriptTarget.Latest, true)
  return literalsIn(file, file).filter(({ text }) => wordCount(text) >= FEWEST)
}

/** The functions that run a test or a group of tests under the name in their first argument. */
const NAMING = /^(?:t\.)?(?:test|it|describe)$/

/** Returns the names of tests in a source: of calls, and the labels in tables of cases. */
function testNamesIn(source: string): Piece[] {
  const file = ts.createSourceFile('x.tsx', source, ts.ScriptTarget.Latest, true)
  const pieces: Piece[] = []
  function visit(node: ts.Node): void {
    const name = namePartOf(node, file)
    if (name !== undefined) pieces.push(...literalsIn(name, file))
    ts.forEachChild(node, visit)
  }
  visit(file)
  return pieces
}

/** Returns the part of a node that names a test: an argument of a call, or a label. */
function namePartOf(node: ts.Node, file: ts.SourceFile): ts.Node | undefined {
  if (ts.isCallExpression(node) && NAMING.test(node.expression.getText(file)))
    return node.arguments[0]
  const label = labelOf(node)
  // One word may as well be the input of a case.
  return label !== undefined && wordCount(label.text) > 1 ? label : undefined
}

/** Returns the first string of a row in a table of cases, or the quoted key of a case. */
function labelOf(node: ts.Node): ts.StringLiteralLike | undefined {
  if (ts.isArrayLiteralExpression(node) && ts.isArrayLiteralExpression(node.parent))
    return node.elements.slice(0, 1).find(ts.isStringLiteralLike)
  if (ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name)) return node.name
  return undefined
}

/** Returns the lines of a Markdown document without code and targets of links. */
function proseIn(document: string): Piece[] {
  const pieces: Piece[] = []
  let isCode = false
  document.split('\n').forEach((text, at) => {
    if (/^\s*(```|~~~)/.test(text)) isCode = !isCode
    else if (!isCode) pieces.push({ text: text.replace(/`[^`]*`|\]\([^)]*\)/g, ''), line: at + 1 })
  })
  return pieces
}

/**
 * Returns the numbers of the lines with comments or prose that are too long. Tables, headings and
 * lines with a link may be longer.
 */
function longLines(text: string, pieces: readonly Piece[]): number[] {
  const lines = text.split('\n')
  const isLong = (line: string) => line.length > LONGEST && !/^\s*\||^#|\]\(|https?:\/\//.test(line)
  const numbers = pieces.flatMap((one) => one.text.split('\n').map((_, at) => one.line + at))
  return [...new Set(numbers)].filter((number) => isLong(lines[number - 1] ?? ''))
}

const wordsIn = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { text }) => sum + wordCount(text), 0)

/** Returns each match of a rule in pieces of a file, with its line. */
const matchesOf = (rule: Rule, pieces: readonly Piece[]) =>
  pieces.flatMap(({ text, line }) =>
    [...text.matchAll(rule.words)].map(({ 0: word, index }) => ({
      word,
      line: line + text.slice(0, index).split('\n').length - 1,
    })),
  )

/**
 * Checks comments and documents of one folder.
 * @param files path → source text
 * @returns one message for each place to mend: file, line, what is wrong, and the remedy
 */
export function faultsOf(files: Readonly<Record<string, string>>): string[] {
  const read = Object.entries(files).map(([path, text]) => {
    return { path, text, pieces: path.endsWith('.md') ? proseIn(text) : commentsIn(text) }
  })
  const long = read.flatMap(({ path, text, pieces }) =>
    longLines(text, pieces).map(
      (line) => `${path}:${line}: longer than ${LONGEST} characters: wrap it`,
    ),
  )
  return [...long, ...wordFaults(read, ({ most }) => most)]
}

/**
 * Checks strings of at least four words in the sources of one folder.
 * @param files path → source text
 * @returns one message for each place to mend: file, line, what is wrong, and the remedy
 */
export const stringFaultsOf = (files: Readonly<Record<string, string>>): string[] =>
  wordFaults(
    Object.entries(files).map(([path, text]) => ({ path, pieces: stringsIn(text) })),
    ({ most, mostInStrings = most }) => mostInStrings,
  )

/**
 * Checks the names of tests in the sources of one folder.
 * @param files path → source text
 * @returns one message for each place to mend: file, line, what is wrong, and the remedy
 */
export const testNameFaultsOf = (files: Readonly<Record<string, string>>): string[] =>
  wordFaults(
    Object.entries(files).map(([path, text]) => ({ path, pieces: testNamesIn(text) })),
    ({ most, mostInStrings = most }) => mostInStrings,
  )

/** Returns the places of each rule that is broken more often than it allows. */
function wordFaults(
  read: readonly { path: string; pieces: readonly Piece[] }[],
  limitOf: (rule: Rule) => number,
): string[] {
  const words = read.reduce((sum, { pieces }) => sum + wordsIn(pieces), 0)
  return RULES.flatMap((rule) => {
    const places = read.flatMap(({ path, pieces }) =>
      matchesOf(rule, pieces).map((match) => ({ path, ...match })),
    )
    const rate = (places.length / Math.max(words, 1)) * 1000
    const limit = limitOf(rule)
    if (rate <= limit) return []
    return places.map(
      ({ path, line, word }) =>
        `${path}:${line}: "${word}" (${rule.name}, ${rate.toFixed(1)} of ${limit} per 1,000 words): ${rule.remedy}`,
    )
  })
}
