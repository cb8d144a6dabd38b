import type { Connection } from '../api/rest/connections.ts'
import { AppError } from '../errors.ts'
import type { Command, Invocation } from './command.ts'
import { helped } from './connection-faults.ts'
import { isActive, readConnection } from './connection.ts'
import { withPrompt } from './prompt.ts'
import { shown } from './table.ts'

/** Of the two ways in which a connection ends for somebody, one. */
interface Way {
  readonly verb: 'leave' | 'delete'
  readonly state: 'left' | 'deleted'
  readonly warning: string
  /** Why it is the other way that is meant; null when it is not. */
  readonly misfit: (id: string, others: number) => string | null
}

const LEAVE: Way = {
  verb: 'leave',
  state: 'left',
  warning:
    'Its words are forgotten here, and only an owner brings you back. The others get a new secret, which you never see.',
  misfit: (id, others) =>
    others > 0
      ? null
      : `Nobody else is in it: "countersignd connection delete ${id}" ends it for good.`,
}

const DELETE: Way = {
  verb: 'delete',
  state: 'deleted',
  warning: 'It is gone for good, with the invitations to it.',
  misfit: (id, others) =>
    others === 0
      ? null
      : `Others are in it: "countersignd connection leave ${id}" leaves it to them. To end it for all, remove them first ("countersignd connection remove-member").`,
}

/** Have the person confirm. Throws AppError when they do not, or nobody is there to. */
const confirm = ({ io }: Invocation, { verb, warning }: Way, { name }: Connection): Promise<void> =>
  withPrompt(io, async (prompt) => {
    if (!prompt.isTerminal)
      throw new AppError(
        'invalid_state',
        `Nothing was done: without a terminal, confirm with --yes that you mean to ${verb} it.`,
      )
    io.stderr.write(`You ${verb} "${shown(name)}". ${warning}\n`)
    const typed = await prompt.ask(`Type "${verb}" to go on: `)
    if (typed !== verb) throw new AppError('invalid_state', 'Nothing was done.')
  })

const ending = (way: Way, help: string): Command => ({
  usage: 'ID [--yes] [--json]',
  help,
  options: { yes: { type: 'boolean' } },
  args: [1, 1],
  async run(invocation) {
    const { args, options, withApi, print, say } = invocation
    const [id = ''] = args
    const connection = await withApi((api) => readConnection(api, id))
    const misfit = way.misfit(id, connection.members.filter(isActive).length - 1)
    if (misfit !== null) throw new AppError('invalid_state', misfit)
    if (options['yes'] !== true) await confirm(invocation, way, connection)
    await withApi((api) => helped(id, () => api.connections.delete({ id })))
    print({ id, state: way.state }, [])
    say(`${way.verb === 'leave' ? 'Left' : 'Deleted'} "${shown(connection.name)}".`)
  },
})

export const connectionLeave = ending(
  LEAVE,
  `
Leaves a connection to its other members, who get a new secret at their next sync. The last owner makes another member one first
("countersignd connection role").

  --yes   do not ask for confirmation`,
)

export const connectionDelete = ending(
  DELETE,
  `
Deletes a connection in which nobody else is, for good, with the invitations to it.

  --yes   do not ask for confirmation`,
)
