import type { Migration } from '../../../storage/migrations.ts'
import type { StatementsFor } from '../engine.ts'

/**
 * Used proofs get a table of their own, and the secret of their nonces moves into an epoch. In
 * PostgreSQL, a crash empties both tables together.
 */
export const accountVersion12: Migration<StatementsFor> = {
  version: 12,
  statements: (id, unlogged) => [
    `create ${unlogged} table used_proofs (
      id ${id} primary key,
      expires_at bigint not null
    )`,
    // The ids of used proofs and assertions are hashes. Those of other marks have other lengths.
    `insert into used_proofs (id, expires_at)
      select id, expires_at from seen_once where length(id) = 64`,
    `create index used_proofs_by_expiry on used_proofs (expires_at)`,
    `create ${unlogged} table proof_epoch (
      id integer primary key,
      epoch ${id} not null,
      secret text not null
    )`,
    // Servers of the version before continue to use this secret until they are restarted.
    `insert into proof_epoch (id, epoch, secret)
      select 1, 'version 11', secret from server_secrets where name = 'nonce'`,
    `delete from server_secrets where name = 'nonce'`,
  ],
}
