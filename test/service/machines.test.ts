/** Machine accounts on both engines. */
import { onBothEngines } from './engines.ts'
import { assertionsSuite } from './machines-assertions.suite.ts'
import { oauthSuite } from './machines-oauth.suite.ts'
import { machineTokensSuite } from './machines-tokens.suite.ts'
import { machinesSuite } from './machines.suite.ts'

onBothEngines((name, engine) => {
  machinesSuite(name, engine)
  machineTokensSuite(name, engine)
  assertionsSuite(name, engine)
  oauthSuite(name, engine)
})
