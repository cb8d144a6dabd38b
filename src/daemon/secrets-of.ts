/** The names of the secrets that belong to a state folder which nobody has open, for whoever removes them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { secretNames } from '../device/secret-names.ts'

/** Of a database that cannot be read, the tokens are not known; of an account that was never made there are none. */
function tokensIn(dir: string): string[] {
  const path = join(dir, 'state.db')
  if (!existsSync(path)) return []
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    const rows = db.prepare('select id from tokens').all() as { id: string }[]
    const begun = db.prepare(`select value from meta where key = 'token_begun'`).get()
    const value = begun === undefined ? [] : [JSON.parse(String(begun['value'])) as string]
    return [...rows.map(({ id }) => id), ...value]
  } finally {
    db.close()
  }
}

/** Every name that may have a secret. Throws what node:sqlite throws of a database that is damaged. */
export const storedNames = (dir: string): string[] => secretNames(tokensIn(dir))
