/**
 * Compares the tokens of two commits, for changes of comments alone: `node lint/tokens.ts BASE
 * [HEAD]` lists the sources with other tokens and exits with 1 if there are any. White space and
 * trailing commas do not count.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import ts from 'typescript-5'

/** Returns the tokens of a source, without comments and commas. */
export function tokensOf(source: string): string[] {
  const file = ts.createSourceFile('x.ts', source, ts.ScriptTarget.Latest, true)
  const tokens: string[] = []
  function visit(node: ts.Node): void {
    if (ts.isJSDoc(node)) return
    const children = node.getChildren(file)
    for (const child of children) visit(child)
    const text = children.length === 0 ? node.getText(file) : ''
    if (text !== '' && text !== ',') tokens.push(text)
  }
  visit(file)
  return tokens
}

const git = (...words: string[]) =>
  execFileSync('git', words, { encoding: 'utf8', maxBuffer: 2 ** 28 })

/** Returns the text of a file at a commit; null if the commit does not have it. */
function textAt(commit: string, path: string): string | null {
  try {
    return git('show', `${commit}:${path}`)
  } catch {
    return null
  }
}

/** Checks whether a file has the same tokens at two commits. */
function isSame(path: string, base: string, head: string): boolean {
  const [before, after] = [textAt(base, path), textAt(head, path)]
  if (before === null || after === null) return false
  return tokensOf(before).join('\n') === tokensOf(after).join('\n')
}

if (import.meta.main) {
  const [base, head = 'HEAD'] = parseArgs({ allowPositionals: true }).positionals
  if (base === undefined) throw new Error('Usage: node lint/tokens.ts BASE [HEAD]')
  const changed = git('diff', '--name-only', '-z', base, head, '--', '*.ts', '*.mjs')
    .split('\0')
    .filter((path) => path !== '')
  const others = changed.filter((path) => !isSame(path, base, head))
  for (const path of others) console.log(`${path}: other tokens than in ${base}`)
  if (others.length > 0) process.exitCode = 1
}
