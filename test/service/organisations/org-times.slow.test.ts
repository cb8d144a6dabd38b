/** The times of activities of organisations and their effects, on both engines. */
import { onBothEngines } from '../engines.ts'
import { orgTimesSuite } from './org-times.suite.ts'

onBothEngines(orgTimesSuite)
