/** Deletes the account of the caller, and checks before that whether this is allowed. */
import type { Service } from '../../api/port.ts'
import { requireApproved } from '../accounts/device-rows.ts'
import type { ServiceContext } from '../context.ts'
import { endingWith } from '../organisations/deletion.ts'

export const account = (ground: ServiceContext): Service['account'] => ({
  delete: async (_, session) => {
    const { deleteAccount } = await import('./account-deletion.ts')
    await deleteAccount(ground, session)
  },
})

export const deletion = ({ db, now }: ServiceContext): Service['deletion'] => ({
  read: async (_, session) => {
    await requireApproved(db, session)
    const { requireNoFreshReset } = await import('./deletion-wait.ts')
    await requireNoFreshReset(db, session.account, now())
    await endingWith(db, session.account)
    return { account: session.account }
  },
})
