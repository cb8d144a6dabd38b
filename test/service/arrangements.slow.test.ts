/** Tags and presets on both engines. */
import { onBothEngines } from './engines.ts'
import { presetUsesSuite } from './connections/preset-uses.suite.ts'
import { presetsSuite } from './connections/presets.suite.ts'
import { tagAssignmentsSuite } from './connections/tag-assignments.suite.ts'
import { tagsSuite } from './connections/tags.suite.ts'

onBothEngines((name, engine) => {
  tagsSuite(name, engine)
  tagAssignmentsSuite(name, engine)
  presetsSuite(name, engine)
  presetUsesSuite(name, engine)
})
