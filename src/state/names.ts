/** The names under which people were accepted here. Whatever they are called later, they stay these. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from './sqlite.ts'

export type NameRows = ReturnType<typeof nameRows>

/** The name rows, by account id. */
export function nameRows(db: DatabaseSync) {
  const insert = statement(
    db,
    'insert into names (account, name) values (?, ?) on conflict do nothing',
  )
  const get = statement<{ name: string }>(db, 'select name from names where account = ?')
  const remove = statement(db, 'delete from names where account = ?')
  return {
    /** Keeps the first name, and answers it. */
    pin(account: string, name: string): string {
      insert.run(account, name)
      return get.get(account)?.name ?? name
    },
    get: (account: string): string | null => get.get(account)?.name ?? null,
    /** Forgets a name, so that the next one is kept. */
    delete: (account: string): boolean => remove.run(account) > 0,
  }
}
