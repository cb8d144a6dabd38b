/** What SQLite has no words for: it has one writer at a time, who holds every row already. */
import { type SelectModifierNode, SqliteQueryCompiler } from 'kysely'

class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === 'Distinct') super.visitSelectModifier(node)
  }
}

/** Writes queries as SQLite reads them: those that hold rows, as ones that do not. */
export const newCompiler = () => new Compiler()
