/** When activities of organisations happened, and what follows from it, on both engines. */
import { onBothEngines } from '../engines.ts'
import { orgTimesSuite } from './org-times.suite.ts'

onBothEngines(orgTimesSuite)
