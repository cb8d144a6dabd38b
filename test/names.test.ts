/**
 * The exported names of `src`. A name stands for one thing: two modules do not export the same
 * name. The answers of a group of routes may have the name of the group.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript-5'
import { agents } from '../src/api/agents/index.ts'
import { entrance, signedIn } from '../src/api/device/index.ts'
import { consoleTable } from '../src/api/console/index.ts'
import { docsTable } from '../src/api/docs/index.ts'
import { local } from '../src/api/local/index.ts'
import { rest } from '../src/api/rest/index.ts'
import { site } from '../src/api/site/index.ts'

interface Export {
  readonly name: string
  readonly file: string
  readonly line: number
}

const GROUPS = new Set(
  [rest, entrance, signedIn, agents, docsTable, consoleTable, local, site].flatMap((table) =>
    Object.keys(table),
  ),
)

/** Returns the declared names of a statement, without those in a pattern. */
const declared = (statement: ts.Statement): ts.Identifier[] => {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name).filter(ts.isIdentifier)
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  return isNamed && statement.name !== undefined ? [statement.name] : []
}

const isExported = (statement: ts.Statement) =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)

/** Returns the exports that a file declares, without those of other files. */
function exportsOf(file: string, text: string): Export[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  return source.statements
    .filter(isExported)
    .flatMap(declared)
    .map((name) => ({
      name: name.text,
      file,
      line: source.getLineAndCharacterOfPosition(name.getStart(source)).line + 1,
    }))
}

const mayShare = ({ name, file }: Export) =>
  GROUPS.has(name) && /^src\/(api|handlers|service)\//.test(file)

/** Returns a message for each name that two files export. */
const faultsOf = (exports: readonly Export[]): string[] =>
  [...Map.groupBy(exports, ({ name }) => name)].flatMap(([name, all]) => {
    const [first, other] = [...Map.groupBy(all, ({ file }) => file).values()].map(([one]) => one)
    if (first === undefined || other === undefined || all.every(mayShare)) return []
    return [
      `${other.file}:${other.line}: "${name}" is exported by ${first.file}:${first.line} too. ` +
        'Name one of them after what distinguishes it (CONTRIBUTING.md, Glossary), or export it once.',
    ]
  })

const SRC = join(import.meta.dirname, '../src')

test('an exported name has one meaning', () => {
  const exports = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll(sep, '/'))
    .filter((path) => /\.tsx?$/.test(path))
    .toSorted()
    .flatMap((path) => exportsOf(`src/${path}`, readFileSync(join(SRC, path), 'utf8')))
  assert(exports.length > 1000)
  assert.equal(faultsOf(exports).join('\n'), '')
})

const planted: Record<string, [files: Record<string, string>, says: RegExp | null]> = {
  'two constants': [
    { 'src/a.ts': '\nexport const x = 1', 'src/b.ts': 'export const x = 1' },
    /^src\/b\.ts:1: "x" is exported by src\/a\.ts:2 too\. .*Glossary/,
  ],
  'a type and a function': [
    { 'src/a.ts': 'export type x = 1', 'src/b.ts': 'export async function x() {}' },
    /^src\/b\.ts:1: "x"/,
  ],
  'the name of a group elsewhere': [
    { 'src/api/a.ts': 'export const tags = {}', 'src/cli/b.ts': 'export const tags = {}' },
    /^src\/cli\/b\.ts:1: "tags"/,
  ],
  'the name of a group in its table and its answers': [
    { 'src/api/a.ts': 'export const tags = {}', 'src/service/b.ts': 'export const tags = 1' },
    null,
  ],
  'a schema and its type': [{ 'src/a.ts': 'export const X = 1\nexport type X = 1' }, null],
  'an export from another file': [
    { 'src/a.ts': 'export const x = 1', 'src/b.ts': "export { x } from './a.ts'\nconst y = 1" },
    null,
  ],
}

for (const [what, [files, says]] of Object.entries(planted))
  test(`${what}: ${says === null ? 'allowed' : 'reported with files, lines and remedy'}`, () => {
    const faults = faultsOf(Object.entries(files).flatMap(([file, text]) => exportsOf(file, text)))
    assert.equal(faults.length, says === null ? 0 : 1)
    if (says !== null) assert.match(faults[0] ?? '', says)
  })
