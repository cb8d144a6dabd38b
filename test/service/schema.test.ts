/**
 * `src/service/db/schema.ts` declares the tables as queries see them, and the migrations create
 * them. Both have the same columns, on both engines: names, types, and whether they can be null.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import ts from 'typescript-5'
import { openServiceDatabase } from './database.ts'
import { onBothEngines } from './engines.ts'

const FILE = 'src/service/db/schema.ts'
const MIGRATIONS = 'src/service/db/migrations'

/** The types of TypeScript, without null, and those of SQL. */
const SQL_TYPES: Readonly<Record<string, string>> = {
  text: 'string',
  integer: 'number',
  bigint: 'number',
  bytea: 'Uint8Array',
}

/** A column of the database, with the type of its values in TypeScript. */
interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
}

interface Declared extends Column {
  readonly line: number
}

interface Schema {
  /** The line of each table, by name. */
  readonly tables: ReadonlyMap<string, number>
  readonly columns: readonly Declared[]
}

const membersOf = (node: ts.Node | undefined) =>
  node !== undefined && (ts.isInterfaceDeclaration(node) || ts.isTypeLiteralNode(node))
    ? node.members.filter(ts.isPropertySignature)
    : []

/** Returns the widest type of a declaration: `'a' | 'b' | null` is `string | null`. */
function widened(node: ts.TypeNode | undefined): string {
  if (node === undefined) return 'any'
  if (ts.isUnionTypeNode(node)) {
    const all = new Set(node.types.map(widened))
    const isNullable = all.delete('null')
    return [...all].toSorted().join(' | ') + (isNullable ? ' | null' : '')
  }
  // The database permits null, and every row has a value.
  if (ts.isTypeReferenceNode(node) && node.typeName.getText() === 'AlwaysSet')
    return `${widened(node.typeArguments?.[0])} | null`
  if (!ts.isLiteralTypeNode(node)) return node.getText()
  if (ts.isStringLiteral(node.literal)) return 'string'
  return ts.isNumericLiteral(node.literal) ? 'number' : node.getText()
}

/** Reads the declarations of an interface `Schema`. */
function declaredIn(text: string): Schema {
  const source = ts.createSourceFile(FILE, text, ts.ScriptTarget.Latest, true)
  const lineOf = (node: ts.Node) => source.getLineAndCharacterOfPosition(node.getStart()).line + 1
  const schema = source.statements
    .filter(ts.isInterfaceDeclaration)
    .find(({ name }) => name.text === 'Schema')
  const tables = membersOf(schema)
  return {
    tables: new Map(tables.map((table) => [table.name.getText(), lineOf(table)])),
    columns: tables.flatMap((table) =>
      membersOf(table.type).map((column) => ({
        table: table.name.getText(),
        name: column.name.getText(),
        type: widened(column.type),
        line: lineOf(column),
      })),
    ),
  }
}

/** Returns a message for each column that is only declared, only migrated, or of two types. */
function faultsOf({ tables, columns }: Schema, migrated: readonly Column[]): string[] {
  const keyOf = ({ table, name }: Column) => `${table}.${name}`
  const found = new Map(migrated.map((column) => [keyOf(column), column]))
  const declared = new Set(columns.map(keyOf))
  return [
    ...columns.flatMap((column) => {
      const { type } = found.get(keyOf(column)) ?? {}
      const place = `${FILE}:${column.line}: "${keyOf(column)}"`
      if (type === undefined)
        return `${place} is in no migration. Add a file to ${MIGRATIONS} that creates the column, list it in ${MIGRATIONS}.ts, or remove the column here.`
      if (type === column.type) return []
      return `${place} is ${column.type}, and ${type} in the database. Declare it as ${type}, or change the column in a new file of ${MIGRATIONS}.`
    }),
    ...migrated
      .filter((column) => !declared.has(keyOf(column)))
      .map(
        (column) =>
          `${FILE}:${tables.get(column.table) ?? 1}: "${keyOf(column)}" is missing, which a migration creates. Declare it here: ${column.name}: ${column.type}`,
      ),
  ]
}

interface Row {
  readonly table: string
  readonly name: string
  readonly type: string
  /** A primary key is never null. SQLite says so of some alone. */
  readonly nullable: number
}

const COLUMNS: Readonly<Record<string, RawBuilder<Row>>> = {
  SQLite: sql`
    select t.name as "table", c.name, c.type, c."notnull" = 0 and c.pk = 0 as nullable
    from sqlite_schema as t join pragma_table_xinfo(t.name) as c
    where t.type = 'table'`,
  PostgreSQL: sql`
    select table_name as "table", column_name as name, data_type as type,
      case is_nullable when 'YES' then 1 else 0 end as nullable
    from information_schema.columns where table_schema = 'public'`,
}

/** The runner of the migrations reads and writes this table, and no query does. */
const LEDGER = 'schema_version'

onBothEngines((name, { newPlace }) => {
  it('the declared columns are those of a migrated database', async () => {
    const { db, close } = await openServiceDatabase(await newPlace())
    const { rows } = await COLUMNS[name]!.execute(db)
    await close()
    const migrated = rows
      .filter(({ table }) => table !== LEDGER)
      .map(({ table, name: column, type, nullable }) => ({
        table,
        name: column,
        type: (SQL_TYPES[type.toLowerCase()] ?? type) + (nullable === 1 ? ' | null' : ''),
      }))
    const declared = declaredIn(readFileSync(join(import.meta.dirname, '../..', FILE), 'utf8'))
    assert(declared.columns.length > 300)
    assert.equal(faultsOf(declared, migrated).join('\n'), '')
  })
})

describe('a column that differs is reported with file, line and remedy', () => {
  const text = `export interface Schema {
    /** A table. */
    accounts: {
      id: string
      kind: 'a' | 'b'
      active: 0 | 1 | null
      bytes: Uint8Array
      set: AlwaysSet<string>
    }
  }`
  const columns: Column[] = [
    { table: 'accounts', name: 'id', type: 'string' },
    { table: 'accounts', name: 'kind', type: 'string' },
    { table: 'accounts', name: 'active', type: 'number | null' },
    { table: 'accounts', name: 'bytes', type: 'Uint8Array' },
    { table: 'accounts', name: 'set', type: 'string | null' },
  ]
  const without = (name: string) => columns.filter((column) => column.name !== name)
  const cases: [what: string, migrated: readonly Column[], says: RegExp | null][] = [
    ['none', columns, null],
    ['without a migration', without('kind'), /schema\.ts:5: "accounts\.kind" is in no migration\./],
    [
      'without a declaration',
      [...columns, { table: 'accounts', name: 'nick', type: 'string | null' }],
      /schema\.ts:3: "accounts\.nick" is missing, .* nick: string \| null$/,
    ],
    [
      'in a table without a declaration',
      [...columns, { table: 'tags', name: 'id', type: 'string' }],
      /schema\.ts:1: "tags\.id" is missing/,
    ],
    [
      'that cannot be null in the database',
      [...without('active'), { table: 'accounts', name: 'active', type: 'number' }],
      /schema\.ts:6: "accounts\.active" is number \| null, and number in the database\. Declare/,
    ],
    [
      'that can be null in the database',
      [...without('id'), { table: 'accounts', name: 'id', type: 'string | null' }],
      /schema\.ts:4: "accounts\.id" is string, and string \| null in the database/,
    ],
    [
      'of another type',
      [...without('bytes'), { table: 'accounts', name: 'bytes', type: 'string' }],
      /schema\.ts:7: "accounts\.bytes" is Uint8Array, and string in the database/,
    ],
    [
      'that is always set by itself',
      [...without('set'), { table: 'accounts', name: 'set', type: 'string' }],
      /schema\.ts:8: "accounts\.set" is string \| null, and string/,
    ],
  ]
  for (const [what, migrated, says] of cases)
    it(what, () => {
      const faults = faultsOf(declaredIn(text), migrated)
      assert.equal(faults.length, says === null ? 0 : 1)
      if (says !== null) assert.match(faults[0] ?? '', says)
    })
})
