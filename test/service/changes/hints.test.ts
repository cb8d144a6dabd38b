/** The streams that report changes to devices, on both engines. */
import { onBothEngines } from '../engines.ts'
import { hintsSuite } from './hints.suite.ts'

onBothEngines(hintsSuite)
