/** All attacks, in the order of the threat table. */
import type { Attack, Drill } from './attack.ts'
import { bodies } from './bodies.ts'
import { consoleAttacks } from './console.ts'
import { drills } from './drills.ts'
import { framing } from './framing.ts'
import { hosts } from './hosts.ts'
import { methods } from './methods.ts'
import { origins } from './origins.ts'
import { pages } from './pages.ts'
import { paths } from './paths.ts'
import { scopes } from './scopes.ts'
import { tokens } from './tokens.ts'
import { toolAttacks } from './tools.ts'

export const ATTACKS: readonly Attack[] = [
  ...hosts,
  ...origins,
  ...paths,
  ...toolAttacks(),
  ...scopes,
  ...framing,
  ...methods,
  ...bodies,
  ...tokens,
  ...pages,
  ...consoleAttacks,
]

export const DRILLS: readonly Drill[] = drills
