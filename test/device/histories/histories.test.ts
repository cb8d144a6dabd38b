/**
 * Runs random histories of a connection, with crashes at any point.
 * Users, thieves and a dishonest account server act in any order. They use five devices of three
 * people, two of them owners. At the end the server is honest and all devices have synced: they
 * agree or give a reason, and every connection can be verified, or was replaced, and can be left.
 */
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { openState, type State } from '../../../src/state/state.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { EXAMPLES } from './history-examples.ts'
import { ends, history } from './history-run.ts'
import { frames, plans } from './history-plans.ts'

/**
 * More with PROPERTY_RUNS=2000; the same again with SEED=… and SEED_PATH=…, as a failure prints
 * them.
 */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 40)
const SEED = process.env['SEED']
const PATH = process.env['SEED_PATH']

const TIMEOUT_MS = RUNS * 5_000 + 60_000

it(
  `any history of five devices, ${RUNS} of them`,
  { timeout: TIMEOUT_MS },
  async (t: TestContext) => {
    const seed = SEED === undefined ? {} : { seed: Number(SEED) }
    const path = PATH === undefined ? {} : { path: PATH }
    await fc.assert(
      fc.asyncProperty(plans, frames, async (plan, frame) => {
        const folders: State[] = []
        try {
          const newFolder = () => {
            folders.push(openState(freshFolder(t)))
            return folders.at(-1)!
          }
          await history(newFolder, plan, frame)
        } finally {
          for (const state of folders) state.close()
        }
      }),
      {
        numRuns: RUNS,
        ...seed,
        ...path,
        examples: EXAMPLES,
        // The search for a smaller plan takes minutes. The smallest one found until then is
        // reported.
        interruptAfterTimeLimit: TIMEOUT_MS - 10_000,
        markInterruptAsFailure: true,
      },
    )
    t.diagnostic(JSON.stringify(ends))
  },
)
