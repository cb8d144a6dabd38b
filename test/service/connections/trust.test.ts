/** Trust cards, the public code, preferences and profiles on both engines. */
import { onBothEngines } from '../engines.ts'
import { preferencesSuite } from '../preferences.suite.ts'
import { publicCodeSuite } from '../guests/public-code.suite.ts'
import { publicWordsSuite } from '../guests/public-words.suite.ts'
import { trustSuite } from './trust.suite.ts'

onBothEngines((name, engine) => {
  trustSuite(name, engine)
  preferencesSuite(name, engine)
  publicCodeSuite(name, engine)
  publicWordsSuite(name, engine)
})
