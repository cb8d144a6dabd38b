/** First contacts by four words: their creation and their outcomes. The words are shown once. */
import { contactOf } from '../device/first-contacts/outcomes.ts'
import { AppError } from '../errors.ts'
import type { Handlers } from './context.ts'
import { namingOf } from './named.ts'

export const firstContacts: Handlers['firstContacts'] = {
  list: async (_, { local }) => ({
    items: local.state.firstContacts.all().map((row) => contactOf(namingOf(local), row)),
  }),
}

export const contactWords: Handlers['contactWords'] = {
  create: async ({ id }, { local, home }) => {
    const account = home.seat.account()
    const { sent } = await account.invitations.list({})
    const invitation = sent.find((one) => one.id === id)
    if (invitation === undefined) throw new AppError('not_found', 'There is no such invitation.')
    const { makeWords } = await import('../device/first-contacts/four-words.ts')
    return makeWords(local, account, invitation)
  },
}
