/**
 * Runs one command over an API of the test, at a terminal or in a script: without a daemon or a
 * state folder.
 */
import { setImmediate } from 'node:timers/promises'
import { AmbiguousNameError } from '../../src/api/naming/ambiguous.ts'
import type { Api, Command } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { parseCommand, requireComplete } from '../../src/cli/parse.ts'
import { resolveNames } from '../../src/cli/references.ts'
import { readConfig } from '../../src/config/config.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import type { Laptop } from '../device/session/signing-in.ts'
import { type CommandResult, type Typed, streams } from './terminal.ts'
import { PUBLIC_URL } from '../service/subject.ts'

/** Runs a command; an error that it throws becomes its last line, as the program prints it. */
export async function call(
  api: Partial<Api>,
  [name, ...args]: readonly [name: string, ...args: string[]],
  more: Typed = {},
): Promise<CommandResult> {
  const { result, io } = streams(more)
  const command = (await COMMANDS[name]?.load()) as Command
  const given = parseCommand(name, command, args)
  const json = given.options['json'] === true
  const env = { HOME: '/', ...more.env }
  try {
    requireComplete(name, command, given)
    command.check?.(given)
    const resolved = await resolveNames(command, given, (work) => work(api as Api))
    const code = await command.run({
      ...resolved,
      io: { ...io, env },
      config: () => readConfig(env),
      json,
      withApi: (work) => work(api as Api, true),
      print: (answer, lines) =>
        void io.stdout.write(
          json
            ? JSON.stringify(answer)
            : [lines]
                .flat()
                .map((line) => `${line}\n`)
                .join(''),
        ),
      say: (text) => void (json || io.stderr.write(`${text}\n`)),
      started: () => undefined,
      pause: () => setImmediate(),
    })
    return { code: code ?? EXIT.ok, ...result }
  } catch (error) {
    result.err += `${(error as Error).message}\n`
    const code = error instanceof AmbiguousNameError ? EXIT.ambiguous : EXIT.failed
    return { code, ...result }
  }
}

/** Returns the API of a device’s daemon. */
export function apiOf(laptop: Laptop): Partial<Api> {
  const { flow } = laptop
  const own = () => laptop.deviceSession.identity()
  const user = () => ({
    id: own()?.account as string,
    display_name: 'Ada',
    email: own()?.email ?? null,
    kind: 'person' as const,
  })
  return {
    signIn: {
      read: () => flow.read(),
      begin: ({ body }) => flow.begin(body.email),
      planReset: ({ body: { by, recovery_key = null } }) => flow.planReset({ by, recovery_key }),
      code: ({ body }) => flow.code({ ...body, reset: body.reset ?? false }),
      machine: ({ body }) => flow.machine({ ...body, reset: body.reset ?? false }),
      beginApproval: () => flow.beginApproval(),
      advanceApproval: () => flow.advanceApproval(),
      approve: ({ body }) => flow.approve(body.words),
      end: ({ body: { last_device = false, forget = false } }) => flow.end({ last_device, forget }),
    },
    approvals: {
      read: async ({ id }) => {
        const { items } = await laptop.deviceSession.account().devices.list({})
        return { state: items.find((one) => one.id === id)!.state, unsealed: 0 }
      },
      begin: ({ id }) => laptop.approver.begin(laptop.deviceSession.account(), id),
      advance: ({ id }) => laptop.approver.advance(laptop.deviceSession.account(), id),
      create: ({ id, body }) =>
        laptop.approver.approve(laptop.deviceSession.account(), id, body.words),
    },
    devices: {
      list: (page) => laptop.deviceSession.account().devices.list(page),
      delete: async () => {
        throw new AppError('not_found', 'no')
      },
    },
    context: {
      activeOrg: async () => {
        throw new AppError('not_found', 'no')
      },
      read: async () => {
        await laptop.deviceSession.account().context.read({})
        return { user: user(), organisations: [] }
      },
    },
    status: { read: async () => ({ backend: PUBLIC_URL, notices: [] }) as never },
    recovery: {
      read: async () => ({ key: null, since: null, next: { account: '', seq: 1, prev: '' } }),
      create: async () => {
        throw new AppError('conflict', 'no')
      },
      dismiss: async () => ({ dismissed: null }),
    },
  }
}
