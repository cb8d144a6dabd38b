import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { feedback } from '../../api/rest/assistant.ts'
import { type Command, UsageError } from '../command.ts'

const CATEGORIES = feedback.send.body.entries.category.wrapped.wrapped.options

export const feedbackCommand: Command = {
  usage: 'TEXT|- [--category CATEGORY] [--json]',
  help: `
Sends feedback to the operator of the account server, with the address of your account. "-" reads it from standard input. Put no words, tokens
or keys in it.

  --category CATEGORY   ${CATEGORIES.join(', ')}`,
  options: { category: { type: 'string' } },
  args: [1, 1],
  async run({ args: [given = ''], options, io, withApi, print, say }) {
    const category = CATEGORIES.find((one) => one === options['category'])
    if (options['category'] !== undefined && category === undefined)
      throw new UsageError(`--category is one of ${CATEGORIES.join(', ')}.`)
    const message = (given === '-' ? await text(Readable.from(io.stdin)) : given).trim()
    if (message === '') throw new UsageError('The feedback is empty: write a text.')
    const body = { message, ...(category === undefined ? {} : { category }) }
    const sent = await withApi((api) => api.feedback.send({ body }))
    print(sent, [])
    say('Sent. Thank you.')
  },
}
