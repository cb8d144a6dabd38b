/** Tags and presets on both engines. */
import { onBothEngines } from './engines.ts'
import { presetUsesSuite } from './preset-uses.suite.ts'
import { presetsSuite } from './presets.suite.ts'
import { tagAssignmentsSuite } from './tag-assignments.suite.ts'
import { tagsSuite } from './tags.suite.ts'

onBothEngines((name, engine) => {
  tagsSuite(name, engine)
  tagAssignmentsSuite(name, engine)
  presetsSuite(name, engine)
  presetUsesSuite(name, engine)
})
