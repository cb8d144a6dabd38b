/** Omits the row locks that SQLite does not support: its single writer locks all rows already. */
import { type SelectModifierNode, SqliteQueryCompiler } from 'kysely'

class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === 'Distinct') super.visitSelectModifier(node)
  }
}

/** Returns a query compiler for SQLite, which leaves out the clauses that lock rows. */
export const newCompiler = () => new Compiler()
